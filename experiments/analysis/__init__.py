"""Everything that is derived from stored cells."""
