"""The command line `fgtsva`."""


def main() -> None:
    """Runs the command line."""
    from experiments.cli.commands import main as run

    run()
