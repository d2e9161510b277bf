"""C9: a finite class on which Thompson sampling fails and the feel-good term repairs it."""
