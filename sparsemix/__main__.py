"""Command line: ``sparsemix demo``, ``sparsemix topics PATH``; ``python -m sparsemix`` is the same."""

from sparsemix import __version__
from sparsemix._commands import demo, topics
from sparsemix._commands.console import Parser


def main(arguments=None):
    """Run one of the commands."""
    parser = Parser(prog="sparsemix", description="Sparse mixtures and topic models.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo.add_parser(commands)
    topics.add_parser(commands)
    options = parser.parse_args(arguments)
    options.run(options)


if __name__ == "__main__":
    main()
