"""Preconditioners, step size rules and adaptation."""
