"""C14: members that Ensemble++ and plain ensembles need."""
