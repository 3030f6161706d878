"""The demo: what the library learns beside scikit-learn, in the same time and from the same rows."""

from sparsemix._commands import demo_mixture, demo_topics
from sparsemix._commands.option_types import positive


def add_parser(commands):
    """Add the command to those of the command line."""
    demo = commands.add_parser("demo", help="learn a mixture from image patches and topics from docstrings")
    demo.set_defaults(run=lambda options: run(options, demo))
    demo.add_argument("--only", choices=("mixture", "topics"), help="one part of the two")
    demo.add_argument("--n-jobs", type=int, default=-1, help="threads (default: all cores)")
    add = demo.add_argument_group("mixture").add_argument
    add("--n-components", type=positive(int), default=200, help="K (default: %(default)s)")
    add("--n-nonzero", type=positive(int), default=4, help="L (default: %(default)s)")
    add("--max-iter", type=positive(int), default=40, help="passes over the patches (default: %(default)s)")
    add("--output", default="sparsemix-demo.png", help="picture to write (default: %(default)s)")
    add = demo.add_argument_group("topics").add_argument
    add("--n-topics", type=positive(int), default=100, help="K (default: %(default)s)")
    add("--n-topics-of-a-word", type=positive(int), default=8, help="L (default: %(default)s)")
    add("--seconds", type=positive(float), default=8.0, help="for each of the two estimators (default: %(default)s)")


def run(options, parser):
    """One part or both; wrong options and what is missing are one line and exit status 2."""
    try:
        parts(options)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: interrupted\n")


def parts(options):
    """One part or both."""
    if options.only != "topics":
        demo_mixture.check_picture(options.output)
        demo_mixture.run(options.n_components, options.n_nonzero, options.max_iter, options.n_jobs, options.output)
    if options.only is None:
        print()
    if options.only != "mixture":
        demo_topics.run(options.n_topics, options.n_topics_of_a_word, options.seconds, options.n_jobs)
