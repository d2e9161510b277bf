"""Exact draws, and negative controls derived from them."""
