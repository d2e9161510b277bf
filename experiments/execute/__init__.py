"""Computes the cells of a study."""
