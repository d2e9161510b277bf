"""Exact draws, and negative controls made from them."""
