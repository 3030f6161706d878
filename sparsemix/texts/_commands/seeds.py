"""Seed words of topics: files of them, and the columns of a corpus that have these words."""

import json
import re

from sparsemix.metrics import top_words
from sparsemix.texts._commands.console import warn
from sparsemix.texts._commands.options import IN_ORDER
from sparsemix.texts._reading.words.vectorizers import composed, composed_lower
from sparsemix.texts._report.naming import plain_name, readable_text, table_rows
from sparsemix.topics import WordPrior

# Topics without seeds that the default number leaves: at least these, or this share of the seeded ones.
FREE, FREE_SHARE = 2, 0.5
# A topic with one of its words among this number of the most probable ones has the name that seeds gave it.
LISTED = 20
LISTS = (".json", ".yaml", ".yml")
EXAMPLE = "map each name to a list of words, such as justice: [court, judge]"


def read_seeds(options):
    """The words of each seeded topic by its name, as the file has them; None without a file.

    Words of a table are texts, which may hold several words. Those of a list are single words or phrases, with
    underscores inside.
    """
    path = options.seeds
    if path is None:
        return None
    if options.estimator in IN_ORDER:
        raise ValueError(f"--seeds does not work with {options.estimator}; choose another --estimator.")
    seeds = listed_seeds(path) if path.lower().endswith(LISTS) else tabled_seeds(path)
    if not seeds:
        raise ValueError(f"{path} has no topic; {EXAMPLE}.")
    return seeds


def tabled_seeds(path):
    """Seeds of a table: topics have one row each, or one for each word."""
    seeds = {}
    for where, row in table_rows(path, ("topic", "words"), warn):
        # words that commas of the table separate are in cells without a heading
        cells = [row["words"] or "", *(text or "" for column, text in row.items() if isinstance(column, int))]
        texts = [text.strip() for cell in [*cells, *row.get(None, ())] for text in re.split("[,;]", cell)]
        name, texts = plain_name(row["topic"]), [text for text in texts if text]
        if texts and not name:
            raise ValueError(f"{where} has words without a topic; give a name in the column topic.")
        if name:
            seeds.setdefault(name, []).extend(texts)
    return seeds


def listed_seeds(path):
    """Seeds of a mapping in JSON or YAML."""
    text, seeds = readable_text(path, warn), {}
    if path.lower().endswith(".json"):
        parse, wrong = json.loads, ValueError
    else:
        try:
            import yaml
        except ImportError as error:
            raise ValueError(f"{path} needs PyYAML: pip install pyyaml; JSON and tables need nothing.") from error
        parse, wrong = yaml.safe_load, yaml.YAMLError
    try:
        found = parse(text)
    except wrong as error:
        raise ValueError(f"{path} cannot be read ({error}); {EXAMPLE}.") from error
    if not isinstance(found, dict) or not all(isinstance(words, list) for words in found.values()):
        raise ValueError(f"{path} is no mapping of names to lists; {EXAMPLE}.")
    for name, words in found.items():
        for text in (name, *words):
            if not isinstance(text, (str, int)) or isinstance(text, bool) or not plain_name(text):
                raise ValueError(f"{path}: topic {name!r} has {text!r}, which is no word; put words in quotes.")
        seeds.setdefault(plain_name(name), []).extend("_".join(str(word).split()) for word in words)
    return seeds


def least_number(seeds):
    """The least default number of topics: the seeded ones, and some free ones for all other texts."""
    return 0 if seeds is None else len(seeds) + max(FREE, round(FREE_SHARE * len(seeds)))


def prior_of_seeds(seeds, corpus, options):
    """The prior of seeded topics; None without seeds. The corpus gets a fact, and a warning of missing words."""
    if seeds is None:
        return None
    column_of, found, missing = Columns(corpus), {}, []
    for name, texts in seeds.items():
        found[name], unknown = columns_of(texts, column_of)
        if not found[name]:
            words = ", ".join(unknown) or "none given"
            raise ValueError(
                f"{options.seeds}: no word of topic {name!r} is in the vocabulary ({words}); give words that enough "
                "texts have, or a smaller --min-df."
            )
        missing += unknown
    if missing:
        words = ", ".join(dict.fromkeys(missing))
        corpus.warnings += (f"words of {options.seeds} that are not in the vocabulary have no effect: {words}",)
    n_words = sum(map(len, found.values()))
    corpus.facts["seeded topics"] = f"{len(found):,}, by {n_words:,} words of strength {options.seed_strength:g}"
    return WordPrior(list(corpus.feature_names), seeds=found, strength=options.seed_strength)


def told_of_seeds(model, feature_names):
    """A warning of seeded topics none of whose words is among the first ones, which their names do not describe."""
    seeds = getattr(model.get_params(deep=False).get("topic_word_prior"), "seeds", None) or {}
    listed = top_words(model, min(LISTED, model.n_features_in_))
    led = [name for name, words, row in zip(seeds, seeds.values(), listed, strict=False)
           if set(words) & {feature_names[v] for v in row}]  # fmt: skip
    other = [repr(name) for name in seeds if name not in led]
    return "" if not other else (
        f"the topics named {', '.join(other)} have none of their words among the first {LISTED}, so the names do not "
        "describe them; give words that more texts have, or a larger --seed-strength"
    )


def columns_of(texts, column_of):
    """The columns of the words and phrases of some texts, and the words without one."""
    found, missing = [], []
    for text in texts:
        words = text.split()
        while words:
            pair = column_of(" ".join(words[:2])) if len(words) > 1 else None
            if pair is not None and len(re.split("[_ ]", pair)) > 1:  # else one of both words is no word of the corpus
                found.append(pair)
                words = words[2:]
                continue
            word = words.pop(0)
            column = column_of(word)
            (missing if column is None else found).append(column or word)
    return list(dict.fromkeys(found)), missing


class Columns:
    """The column of a word or phrase, which is spelled as in the texts of a corpus."""

    def __init__(self, corpus):
        self.known, self.analyze = set(corpus.feature_names), corpus.vectorizer.build_analyzer()

    def __call__(self, word):
        """The word of the column; None if there is none."""
        spaced = word.replace("_", " ")
        for form in (word, composed(word), composed_lower(word), composed_lower(spaced)):
            if form in self.known:  # words of a given vocabulary may have other characters than those of texts
                return form
        found = self.analyze(spaced)
        return found[0] if len(found) == 1 and found[0] in self.known else None
