"""C1: a small constant divergence from the posterior can make regret linear; forced exploration repairs one kind."""
