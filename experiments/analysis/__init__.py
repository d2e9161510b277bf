"""What follows from stored cells."""
