"""C6: underdamped Langevin sampling needs of order sqrt(d) steps, overdamped of order d."""
