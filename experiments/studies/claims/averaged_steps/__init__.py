"""C10: averaging over plays permits a fixed step size and one Langevin step."""
