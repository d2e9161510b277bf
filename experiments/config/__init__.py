"""Studies and cells from command-line overrides."""
