"""Spellings of one word: marks that writing may leave out, and hidden characters."""

import pytest

from sparsemix.texts._reading.corpus import Words, read_corpus
from sparsemix.texts._reading.words.vectorizers import vectorizer_of


def corpus_of(tmp_path, text, **words):
    (tmp_path / "file.txt").write_text(text, encoding="utf-8")
    return read_corpus(tmp_path / "file.txt", words=Words(**words))


# A word in several spellings, the last of which it has in the vocabulary.
SPELLINGS = {
    "vowels of Arabic": ("كِتَابٌ", "كِتَابٍ", "كتـاب", "كتاب"),
    "Quranic signs": ("ٱلرَّحۡمَٰنِ", "ٱلرَّحۡمَٰنُۖ", "الرحمن"),
    "small letters": ("رَبَّهُۥ", "ربه"),
    "vowels of Hebrew": ("שָׁלוֹם", "שָׁל֥וֹם", "שלום"),
    "vowels of Syriac": ("ܟܬܳܒܳܐ", "ܟܬܒܐ"),
    "stress of Russian": ("за\u0301мок", "замо\u0301к", "замок"),
    "stress on letters with marks": ("ї\u0301жак", "їжак"),
    "hidden characters": ("ca\u00adfé", "\u200ecaf\u2060e\u0301", "\ufeffcafé\u200f", "café"),
    "apostrophe of Ukrainian": ("пам'ять", "пам’ять", "пам\u02bcять"),
    "signs between verses": ("\u06ddقلب", "قلب\u06df", "قلب"),
}


@pytest.mark.parametrize("spellings", SPELLINGS.values(), ids=SPELLINGS)
def test_spellings_of_a_word_are_one_word_in_texts_and_lists(tmp_path, spellings):
    text, word = "\n".join(f"{spelling} zebra" for spelling in spellings), spellings[-1]
    (tmp_path / "list.txt").write_text("\n".join([*spellings, "\u200e"]), encoding="utf-8")
    assert corpus_of(tmp_path, text, stop_words=None).feature_names.tolist() == sorted([word, "zebra"])
    for given in ({"stop_words": str(tmp_path / "list.txt")}, {"stop_words": None, "skip": spellings[:1]}):
        assert corpus_of(tmp_path, text, **given).feature_names.tolist() == ["zebra"]
    corpus = corpus_of(tmp_path, text, stop_words=None, vocabulary=tmp_path / "list.txt")
    assert corpus.feature_names.tolist() == [word]
    assert corpus.counts.sum() == len(spellings)


def test_counts_may_have_a_column_for_each_spelling():
    words = ["كِتَابٌ", "كتاب", "Zebra"]
    assert vectorizer_of(words).transform(["كتاب Zebra zebra", "كِتَابٌ"]).toarray().tolist() == [[0, 1, 1], [1, 0, 0]]
