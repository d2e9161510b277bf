"""C20: NeuralLinear on the wheel bandit has the regret that Riquelme et al. report."""
