"""C22: posterior sampling pays for delayed rewards once."""
