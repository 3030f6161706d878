"""Demo: compare mixtures and topic models with scikit-learn, on the same rows and in the same time."""

from sparsemix._commands import demo_mixture, demo_topics
from sparsemix._commands.console import n_threads, positive


def add_parser(commands):
    """Add the subcommand ``demo``."""
    demo = commands.add_parser("demo", help="fit a mixture to image patches and a topic model to docstrings")
    demo.set_defaults(run=lambda options: run(options, demo))
    demo.add_argument("--only", choices=("mixture", "topics"), help="run only this part (default: both)")
    demo.add_argument("--n-jobs", type=n_threads, default=-1, help="number of threads (default: all cores)")
    add = demo.add_argument_group("mixture").add_argument
    add("--n-components", type=positive(int), default=200, help="number of components K (default: %(default)s)")
    add("--n-nonzero", type=positive(int), default=4, help="responsibilities per row L (default: %(default)s)")
    add("--max-iter", type=positive(int), default=40, help="maximal number of epochs (default: %(default)s)")
    add("--output", default="sparsemix-demo.png", help="image file to write (default: %(default)s)")
    add = demo.add_argument_group("topics").add_argument
    add("--n-topics", type=positive(int), default=100, help="number of topics K (default: %(default)s)")
    add("--n-topics-of-a-word", type=positive(int), default=8, help="topics per word L (default: %(default)s)")
    add("--seconds", type=positive(float), default=8.0, help="seconds for each estimator (default: %(default)s)")


def run(options, parser):
    """Run the chosen parts. Wrong options and missing packages print one line and exit with status 2."""
    try:
        parts(options)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: interrupted\n")


def parts(options):
    """Run the chosen parts."""
    if options.only != "topics":
        demo_mixture.check_picture(options.output)
        demo_mixture.run(options.n_components, options.n_nonzero, options.max_iter, options.n_jobs, options.output)
    if options.only is None:
        print()
    if options.only != "mixture":
        demo_topics.run(options.n_topics, options.n_topics_of_a_word, options.seconds, options.n_jobs)
