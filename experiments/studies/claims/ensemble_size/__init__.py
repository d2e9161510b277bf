"""C7, C14: how many members an ensemble needs, and Ensemble++."""
