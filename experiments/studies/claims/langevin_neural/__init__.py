"""C13: Langevin Monte Carlo against LinTS, NeuralTS and NeuralUCB."""
