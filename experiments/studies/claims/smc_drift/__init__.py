"""C21: sequential Monte Carlo follows a truth that drifts where there is no conjugate posterior."""
