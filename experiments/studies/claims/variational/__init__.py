"""C19: Thompson sampling from fitted Gaussians."""
