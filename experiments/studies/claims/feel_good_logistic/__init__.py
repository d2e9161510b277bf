"""C12: Langevin Thompson sampling on a logistic bandit."""
