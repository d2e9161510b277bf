"""Langevin-type samplers without an accept step, which can use minibatch gradients."""
