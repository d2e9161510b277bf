"""C5: a larger feel-good bonus helps accurate samplers and hurts inaccurate ones."""
