"""C15: joint, not marginal, predictive quality goes with regret."""
