"""Sequences of posteriors that bandits meet, as a benchmark of samplers: `fgtsva targets export` and `run`.

`experiments.targets.stored.load_sequence("FOLDER/logistic-5")` gives `.target(-1)`, a log-density with what else is
known of it, and `.reference[-1]`, reference draws of that posterior.
"""
