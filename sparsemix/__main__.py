"""Command line: ``sparsemix demo``, ``topics PATH`` and ``report FOLDER``; ``python -m sparsemix`` is the same."""

from sparsemix.texts._commands.console import (
    Parser,
    console,
    let_interrupts_end,
    open_streams,
    quiet_interrupts,
    status_of_interrupt,
)

with quiet_interrupts():
    from sparsemix import __version__
    from sparsemix.texts._commands.options import add_parsers


def main(arguments=None):
    """Run one of the commands."""
    open_streams()
    parser = Parser(prog="sparsemix", description="Sparse mixtures and topic models.")
    with console():
        try:
            run(parser, arguments)
        except KeyboardInterrupt:
            let_interrupts_end()
            parser.exit(status_of_interrupt(), f"{parser.prog}: interrupted\n")
        finally:
            let_interrupts_end()


def run(parser, arguments):
    """Parse the arguments and run their command."""
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    add_parsers(commands)
    options = parser.parse_args(arguments)
    options.run(options)


if __name__ == "__main__":
    main()
