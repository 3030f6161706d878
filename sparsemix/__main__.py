"""Command line: ``python -m sparsemix demo``, ``python -m sparsemix topics PATH``."""

import argparse

from sparsemix import _demo, _topics_command


def main(arguments=None):
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m sparsemix", description="Sparse mixtures and topic models.")
    commands = parser.add_subparsers(dest="command", required=True)
    _demo.add_parser(commands)
    _topics_command.add_parser(commands)
    options = parser.parse_args(arguments)
    options.run(options)


if __name__ == "__main__":
    main()
