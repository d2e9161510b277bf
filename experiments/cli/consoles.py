"""Where commands print: results to standard output, progress and errors to standard error."""

from rich.console import Console

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)
