"""Options of the command ``sparsemix topics``."""

from sparsemix._commands.option_types import count_or_fraction, fraction, positive
from sparsemix._commands.outputs import MODELS
from sparsemix._commands.reading.corpus import KINDS

# Passes without --max-iter: alone, where nothing says that it is enough, and when --seconds ends the fit.
MAX_ITER, FEW_PASSES, UNLIMITED = 50, 20, 1_000_000
MAX_HELD_OUT = 1000
DESCRIPTION = """Learn topics from PATH: a folder of text files, a text file with a document a line, JSON, CSV or TSV
with a column of texts, Parquet, a UCI bag of words (docword.NAME.txt beside vocab.NAME.txt), a sparse matrix (.npz)
with a vocabulary, or - for standard input; packed with gzip, bzip2 or xz or not. In a table quotes enclose fields, and
are doubled inside them; a quote that is not closed is refused, and so is a row with another number of fields than the
first line. Quotes of a TSV file belong to the text if every line has as many tabs as the first one and some field
begins with a quote that does not end it, as in files that databases write. The folder --output gets report.html,
a page to read and hand on; topics.csv and documents.csv; model.joblib, a scikit-learn pipeline:
joblib.load(...).transform(texts) gives the topics of new texts; and run.json. SkipGramTopicModel reads words in their
order, and adds words.csv, the topics of each word and its neighbours, and word_vectors.bin in the format of word2vec.
Ctrl-C ends learning, and the outputs are those of the passes before; a second Ctrl-C leaves no outputs."""
# What --estimator chooses from, and the options that only some of them have.
ESTIMATORS = {"SparseSCVB0LDA": (), "SparseLDA": ("n_nonzero",), "SkipGramTopicModel": ("window",)}
# Those that read words in their order.
IN_ORDER = ("SkipGramTopicModel",)


def add_options(parser):
    """All options, by group."""
    add = parser.add_argument
    add("path", metavar="PATH", help="the corpus; - is standard input")
    add("--output", default="sparsemix-topics", metavar="DIR", help="folder to write (default: %(default)s)")
    add("--force", action="store_true", help="replace an earlier run in that folder")
    add("--model-format", choices=tuple(MODELS), default="joblib",
        help="save the model by joblib (default), or by skops, whose files ask for less trust")  # fmt: skip
    add_corpus_options(parser.add_argument_group("corpus").add_argument)
    add_word_options(parser.add_argument_group("words of texts").add_argument)
    add_model_options(parser.add_argument_group("model").add_argument)


def add_corpus_options(add):
    """Where documents are."""
    add("--format", choices=KINDS, default="auto", help="what PATH holds (default: by its name)")
    add("--glob", default="*.txt", help="documents of a folder, at any depth (default: %(default)s)")
    add("--encoding", default="utf-8", help="of texts without a mark (default: %(default)s)")
    add("--field", default="text", help="field or column with the text (default: %(default)s)")
    add("--id", help="field that names a document in the outputs")
    add("--date", help="field with its date, for shares over time")
    add("--counts", choices=("auto", "memory", "disk"), default="auto",
        help="where counts of texts lie (default: on disk above 1 GB of text, which is then read twice)")  # fmt: skip
    add("--group", help="field with its group, for shares by group; 'folder' for a folder of folders")


def add_word_options(add):
    """What is counted."""
    add("--vocabulary", metavar="FILE", help="a word a line: the columns of counts, or the only words to take")
    add("--token-pattern", default="letters", metavar="PATTERN",
        help="letters: three or more with their marks (default); words: also short ones and digits; spaces: what "
        "stands between spaces; or a regular expression")  # fmt: skip
    add("--ngram-range", type=int, nargs=2, default=(1, 1), metavar=("MIN", "MAX"), help="words in a row as one")
    add("--min-df", type=count_or_fraction, default=5, help="words in so many documents (default: 5)")
    add("--max-df", type=count_or_fraction, default=0.5, help="and in no more than these (default: 0.5, half)")
    add("--stop-words", default="english", metavar="WORDS", help="english (default), none, or a file")
    add("--gaps", choices=("close", "keep"), default="close",
        help="places of words that are left out, for SkipGramTopicModel (default: %(default)s)")  # fmt: skip
    add("--vectorizer", metavar="PICKLE", help="your own instead of these options; load only what you trust")


def add_model_options(add):
    """The estimator and its evaluation."""
    add("--estimator", choices=tuple(ESTIMATORS), default="SparseSCVB0LDA", help="(default: %(default)s)")
    add("--n-components", type=positive(int), default=100, metavar="K", help="topics (default: %(default)s)")
    add("--n-nonzero", type=positive(int), default=8, metavar="L", help="topics of a word, for SparseLDA (default: 8)")
    add("--window", type=positive(int), default=5, metavar="W",
        help="words on both sides that are a word's context, for SkipGramTopicModel (default: 5)")
    add("--max-iter", type=positive(int),
        help=f"passes (default: until nothing is gained, {MAX_ITER} at most; SkipGramTopicModel: {FEW_PASSES})")
    add("--seconds", type=positive(float), help="stop after the pass in which these are over")
    add("--checkpoint", metavar="FOLDER", help="keep the state of learning there after each pass; the same command "
        "goes on from it, whatever has happened")  # fmt: skip
    add("--held-out", type=fraction, default=0.1, help=f"share for the score, {MAX_HELD_OUT} at most (default: 0.1)")
    add("--n-top-words", type=positive(int), default=10, help="words that stand for a topic (default: %(default)s)")
    add("--n-jobs", type=int, default=-1, help="threads (default: all cores)")
    add("--random-state", type=int, default=0, help="seed (default: %(default)s)")
