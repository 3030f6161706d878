"""Options of all commands, without the packages that the commands need: so --help and errors of options come at once.
"""

import sys
from importlib import import_module

from sparsemix.texts._commands.console import (
    count_or_fraction,
    fraction,
    n_threads,
    not_negative,
    positive,
    quiet_interrupts,
    seed,
)

# Formats of corpora.
KINDS = (
    "auto", "folder", "lines", "text", "json", "csv", "parquet", "excel", "document", "xml", "mail", "other",
    "uci", "npz",
)  # fmt: skip

# Epochs without --max-iter: None follows the length of documents; and if --seconds ends the fit.
MAX_ITER = {"SparseSCVB0LDA": None, "SparseLDA": 50, "SkipGramTopicModel": 20}
UNLIMITED = 1_000_000
MAX_HELD_OUT = 1000
# Without --n-components the number of topics is the root of the number of words, divided by 8; at most one for 5
# documents, and 100. On documentation of 4,600, 65,000 and 576,000 words this gives 8, 32 and 95 topics, all distinct;
# twice as many for 65,000 words contain copies.
ROOT_OF_A_TOPIC, DOCUMENTS_OF_A_TOPIC, MOST_TOPICS = 8, 5, 100
TOPICS_USAGE = "%(prog)s PATH [options]"
TOPICS = """Learn topics from PATH and write a report, tables and the model to the folder --output. PATH is a
folder of texts, a text file with one document per line, a table or records, mail, a page, book or paper (some need
pip install "sparsemix[texts]"), word counts, or - for standard input. Files may be compressed by gzip, bzip2, xz or
Zstandard. model.joblib is a scikit-learn pipeline that gives the topics of new texts. Ctrl-C stops the fit after the
last complete epoch and writes the outputs; a second Ctrl-C leaves no outputs. SIGTERM does the same, and the exit
status is 143."""
# What --estimator chooses from, and the options that only some of them have.
ESTIMATORS = {"SparseSCVB0LDA": (), "SparseLDA": ("n_nonzero",), "SkipGramTopicModel": ("window",)}
# Estimators of word sequences.
IN_ORDER = ("SkipGramTopicModel",)


REPORT = """Write the report of an earlier run again, with names for its topics. FILE is a table with the columns
topic and name; the button of the report saves one. Topics of one name are shown as one. The names go to report.html,
all tables, and the attribute topic_names_ of the pipeline in the model file. Topics without a name lose theirs.
--merge also adds up the topics of one name in the model, without a fit. The model then has fewer topics: a merged topic
has the smallest number of its parts, and later topics move up, so save the names again before the next change. Shares
in the report and tables are sums of the written ones, which leave out shares below 1 % of a document; those that the
merged model gives to a text differ by some percent, and by much more if the topics have few words in common. The words
of a merged topic are chosen from those of the report.
Its coherence, stability and changes of words need the texts and are left out. Scores are those of the topics before."""


def add_parsers(commands):
    """Add the subcommands."""
    add_demo(commands)
    parser = commands.add_parser(
        "topics", help="learn topics from texts or word counts", usage=TOPICS_USAGE, description=TOPICS
    )
    add_options(parser)
    parser.set_defaults(run=runner("topics", parser))
    add_report(commands)


def runner(module, parser):
    """A function that imports the module of a command and runs it with the options."""

    def run(options):
        shown = sys.stdout.isatty() and not getattr(options, "quiet", False)
        print("loading packages" if shown else "", end="", flush=True)
        with quiet_interrupts():
            found = import_module(f"sparsemix.texts._commands.{module}")
        print("\r\x1b[K" if shown else "", end="", flush=True)
        found.run(options, parser)

    return run


def add_demo(commands):
    """Add the subcommand ``demo``."""
    demo = commands.add_parser("demo", help="fit a mixture to image patches and a topic model to docstrings")
    demo.set_defaults(run=runner("demo", demo))
    demo.add_argument("--only", choices=("mixture", "topics"), help="run only this part (default: both)")
    demo.add_argument("--n-jobs", type=n_threads, default=-1, help="number of threads (default: all cores)")
    demo.add_argument(
        "--seconds", type=positive(float), default=12.0, help="a fit ends with the epoch in which so many seconds are "
        "over (default: %(default)s)",
    )  # fmt: skip
    add = demo.add_argument_group("mixture").add_argument
    add("--n-components", type=positive(int), default=200, help="number of components K (default: %(default)s)")
    add("--n-nonzero", type=positive(int), default=4, help="responsibilities per row L (default: %(default)s)")
    add("--max-iter", type=positive(int), default=20, help="maximal number of epochs (default: %(default)s)")
    add("--output", default="sparsemix-demo.png", help="image file to write (default: %(default)s)")
    add = demo.add_argument_group("topics").add_argument
    add("--n-topics", type=positive(int), default=100, help="number of topics K (default: %(default)s)")
    add("--n-topics-of-a-word", type=positive(int), default=8, help="topics per word L (default: %(default)s)")


def add_report(commands):
    """Add the subcommand ``report``."""
    parser = commands.add_parser(
        "report", help="name and join topics of an earlier run", usage="%(prog)s FOLDER --names FILE [--merge]",
        description=REPORT,
    )  # fmt: skip
    parser.add_argument("folder", metavar="FOLDER", help="the folder that sparsemix topics has written")
    parser.add_argument("--names", required=True, metavar="FILE", help="table (CSV) with the columns topic and name")
    parser.add_argument("--merge", action="store_true", help="merge topics of one name in the model; numbers change")
    parser.set_defaults(run=runner("names", parser))


def add_options(parser):
    """Add all options, by group."""
    add = parser.add_argument
    add("path", metavar="PATH", help="the corpus; - reads standard input")
    add("--output", default="sparsemix-topics", metavar="DIR", help="folder of the outputs (default: %(default)s)")
    add("--force", action="store_true", help="replace the outputs of an earlier run in that folder")
    add("--quiet", action="store_true", help="print warnings and errors only, for scheduled runs")
    add_corpus_options(parser.add_argument_group("corpus").add_argument)
    add_word_options(parser.add_argument_group("words of texts").add_argument)
    add_model_options(parser.add_argument_group("model").add_argument)


def add_corpus_options(add):
    """Add the options of the input."""
    add("--format", choices=KINDS, default="auto", metavar="NAME",
        help=f"format of PATH (default: by the file name): {', '.join(KINDS[1:])}")
    add("--glob", help="pattern of the files in a folder, at any depth (default: all texts)")
    add("--encoding", default="utf-8",
        help="encoding of texts without a byte order mark, or several to try on each file, such as utf-8,cp1252 "
        "(default: %(default)s)")  # fmt: skip
    add("--field", default="text",
        help="field or column with the text, a path such as post.text or 'verses[].text', or several such as "
        "title,body (default: %(default)s)")  # fmt: skip
    add("--sheet", metavar="NAME", help="sheet of a workbook (default: the first one)")
    add("--id", metavar="FIELD", help="field with the name of the document, for the outputs")
    add("--date", metavar="FIELD", help="field with the date, for topic shares over time")
    add("--date-format", metavar="FORMAT",
        help="format of the dates, such as %%d/%%m/%%Y or %%m/%%d/%%y (default: recognised)")  # fmt: skip
    add("--passages", type=not_negative, metavar="N",
        help="cut long documents into passages of about N words, whose topics are added up for chapters and documents; "
        "0 keeps documents whole (default: 300 if half of the documents have 1,500 words or more)")  # fmt: skip
    add("--language", metavar="NAME",
        help="keep only texts in this language, such as de or german; needs sparsemix[texts] (default: keep "
        "all)")  # fmt: skip
    add("--copies", choices=("keep", "drop"), default="keep",
        help="what to do with a text that equals an earlier one (default: keep, and count them)")  # fmt: skip
    add("--group", metavar="FIELD",
        help="field with the group of each document: the tab Groups of the report and by_group.csv compare the topics "
        "of groups; 'folder' groups files by their folder")  # fmt: skip
    add("--effect", metavar="FORMULA",
        help="estimate how the shares of topics depend on fields of the records, with intervals, such as 'party + "
        "s(year)' with a smooth curve over the years; dates become numbers; needs sparsemix[formula]")  # fmt: skip


def add_word_options(add):
    """Add the options of the words."""
    add("--vocabulary", metavar="FILE", help="file with a word per line: the columns of counts, or the words to count")
    add("--token-pattern", default="letters", metavar="PATTERN",
        help="letters: runs of three or more letters (default); words: also short ones and digits; spaces: everything "
        "between spaces; or a regular expression")  # fmt: skip
    add("--merge-forms", action="store_true",
        help="count forms of a word, such as singular and plural, as the most frequent one; needs "
        "sparsemix[texts]")  # fmt: skip
    add("--phrases", action="store_true", help="join words that form a phrase, such as machine_learning")
    add("--min-df", type=count_or_fraction, default=5, metavar="N",
        help="skip words that fewer documents or passages have: a number, or a fraction such as 0.01; if many "
        "documents are cut, also words that few of them have (default: 5)")  # fmt: skip
    add("--max-df", type=count_or_fraction, default=0.5, metavar="N",
        help="skip words that more documents or passages have: a number, or a fraction (default: 0.5)")  # fmt: skip
    add("--stop-words", default="auto", metavar="WORDS",
        help="words to skip: auto (default), those of each text's language, found in the corpus if there is no list; "
        "none; or languages and files, such as german,words.txt; auto,words.txt adds words")  # fmt: skip
    add("--skip", default="", metavar="WORD,WORD", help="more words to skip, such as those that a run proposes")


def add_model_options(add):
    """Add the options of the estimator and its evaluation."""
    add("--estimator", choices=tuple(ESTIMATORS), default="SparseSCVB0LDA",
        help="topic model (default: %(default)s, for most texts)")  # fmt: skip
    add("--n-components", "--topics", type=positive(int), metavar="K",
        help=f"number of topics (default: root of the number of words, divided by {ROOT_OF_A_TOPIC}; at most one for "
        f"{DOCUMENTS_OF_A_TOPIC} documents, and {MOST_TOPICS})")  # fmt: skip
    add("--seeds", metavar="FILE",
        help="topics to look for: a table with the columns topic and words, or a mapping of names to lists of words "
        "(.json, .yaml). These topics come first, in this order, with their names; others are free. The default number "
        "of topics leaves at least two free ones")  # fmt: skip
    add("--seed-strength", type=positive(float), default=0.02, metavar="S",
        help="weight of the seed words of a topic: a share of the mean size of a topic (default: %(default)s)")
    add("--n-nonzero", type=positive(int), default=8, metavar="L",
        help="most topics of a word of a document, for SparseLDA (default: 8)")  # fmt: skip
    add("--window", type=positive(int), default=5, metavar="W",
        help="context words on each side of a word, for SkipGramTopicModel (default: 5)")
    add("--max-iter", type=positive(int), metavar="N",
        help="most epochs, which are visits to all documents (default: 20 to 120, more for shorter documents; "
        "SparseLDA: 50; SkipGramTopicModel: 20). SparseSCVB0LDA ends earlier when the score of held-out documents "
        "stops improving, and keeps the best epoch")  # fmt: skip
    add("--seconds", type=positive(float), help="stop after the epoch in which this time is over")
    add("--checkpoint", metavar="FOLDER", help="save the state of the fit there after each epoch; after a crash, the "
        "same command resumes from it")  # fmt: skip
    add("--held-out", type=fraction, default=0.1, metavar="FRACTION",
        help="share of documents that are not learned from, for the score; at most "
        f"{MAX_HELD_OUT:,} documents or passages (default: 0.1)")  # fmt: skip
    add("--n-top-words", type=positive(int), default=10, metavar="N",
        help="words listed for each topic (default: %(default)s)")  # fmt: skip
    add("--runs", type=positive(int), metavar="R",
        help="number of seeds to fit; with several, two more fits start from their consensus, their mean gives the "
        "topics, and the report says how many seeds find each (default: 3 for up to 1,000,000 words; 1 for more, and "
        "with --seconds, --checkpoint or SkipGramTopicModel)")  # fmt: skip
    add("--n-jobs", type=n_threads, default=-1, metavar="N", help="number of threads (default: all cores)")
    add("--random-state", type=seed, default=0, metavar="SEED", help="seed of random numbers (default: %(default)s)")
