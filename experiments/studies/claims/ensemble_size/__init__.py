"""C7: how many members an ensemble needs."""
