"""Markov chain Monte Carlo kernels with an accept step, and slice samplers."""
