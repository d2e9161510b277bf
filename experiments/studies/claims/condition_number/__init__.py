"""C4: the steps that plain Langevin sampling needs grow with the condition number; preconditioning removes that."""
