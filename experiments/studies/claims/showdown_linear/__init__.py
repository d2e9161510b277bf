"""C11: an order of samplers on a linear bandit, with the authors' temperatures and with one posterior for all."""
