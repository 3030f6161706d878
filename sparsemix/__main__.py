"""Command line: ``python -m sparsemix demo``."""

import argparse

from sparsemix import _demo


def main(arguments=None):
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m sparsemix", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="learn a mixture of hundreds of Gaussians from image patches")
    demo.add_argument("--n-components", type=int, default=200, help="K (default: %(default)s)")
    demo.add_argument("--n-nonzero", type=int, default=4, help="L (default: %(default)s)")
    demo.add_argument("--max-iter", type=int, default=40, help="passes over the patches (default: %(default)s)")
    demo.add_argument("--n-jobs", type=int, default=-1, help="threads (default: all cores)")
    demo.add_argument("--output", default="sparsemix-demo.png", help="picture to write (default: %(default)s)")
    options = parser.parse_args(arguments)
    _demo.run(options.n_components, options.n_nonzero, options.max_iter, options.n_jobs, options.output)


if __name__ == "__main__":
    main()
