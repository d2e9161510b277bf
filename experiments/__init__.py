"""Which question is asked: configs, studies, stored results, statistics, figures, the command line."""
