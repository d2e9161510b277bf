"""C18: an experiment of another project with underdamped Langevin chains, as published and mended."""
