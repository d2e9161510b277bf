"""C3: with a warm start, Langevin Thompson sampling needs a constant number of steps."""
