"""C8: sampling the posterior only when a count doubles keeps the order of regret."""
