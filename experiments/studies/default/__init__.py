"""Samplers on the paper's two environments."""
