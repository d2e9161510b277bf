"""Posteriors of NumPyro programs that are followed as data arrive."""
