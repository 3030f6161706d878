"""Languages of texts, and the stop words that follow from them."""

import csv
import sys
from collections import Counter

import numpy as np
import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from sparsemix.__main__ import main
from sparsemix._commands.reading.corpus import Words, read_corpus
from sparsemix._commands.reading.words import stop_words
from sparsemix._commands.reading.words.languages import language_of

# Article 1 of the Universal Declaration of Human Rights.
ARTICLE = {
    "english": "All human beings are born free and equal in dignity and rights. They are endowed with reason and "
    "conscience and should act towards one another in a spirit of brotherhood.",
    "german": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen "
    "begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
    "french": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et "
    "de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.",
    "spanish": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón "
    "y conciencia, deben comportarse fraternalmente los unos con los otros.",
    "italian": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e "
    "di coscienza e devono agire gli uni verso gli altri in spirito di fratellanza.",
    "portuguese": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de "
    "consciência, devem agir uns para com os outros em espírito de fraternidade.",
    "dutch": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand "
    "en geweten, en behoren zich jegens elkander in een geest van broederschap te gedragen.",
    "russian": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и "
    "совестью и должны поступать в отношении друг друга в духе братства.",
    "ukrainian": "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і "
    "совістю і повинні діяти у відношенні один до одного в дусі братерства.",
    "polish": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni "
    "rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
    "arabic": "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا وعليهم أن يعامل بعضهم بعضًا "
    "بروح الإخاء.",
    "greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "hebrew": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",
    "korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "japanese": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "chinese": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
}  # fmt: skip


@pytest.mark.parametrize("language", ARTICLE)
def test_languages_are_recognised(language):
    assert language_of(ARTICLE[language]) == language
    assert language_of(ARTICLE[language].upper()) == language


@pytest.mark.parametrize("text", ["", "12 34", "apple pear plum", "print x", "Lorem ipsum dolor sit amet"])
def test_texts_without_function_words_have_no_language(text):
    assert language_of(text) == ""


def test_a_few_titles_that_look_foreign_are_no_language_of_the_corpus(tmp_path, capsys):
    """Of 600 titles, five seem to be German and one English: too few to name a language, to warn, or for a column."""
    rng = np.random.default_rng(0)
    titles = [" ".join(rng.choice(["apple", "pear", "plum", "cherry"], 4)) for _ in range(594)]
    titles += 5 * [ARTICLE["german"]] + [ARTICLE["english"]]
    (tmp_path / "a.txt").write_text("\n".join(titles), encoding="utf-8")
    main(["topics", str(tmp_path / "a.txt"), "--output", str(tmp_path / "out"), "--n-components", "2",
          "--max-iter", "1", "--format", "lines"])  # fmt: skip
    said = capsys.readouterr()
    assert "languages: not recognised 600\n" in said.out
    assert "several languages" not in said.err
    with (tmp_path / "out" / "documents.csv").open(newline="", encoding="utf-8") as file:
        assert "language" not in next(csv.reader(file))


def test_languages_are_chosen_by_their_share():
    seen = Counter({"german": 90, "english": 9, "french": 1, "": 500})
    assert stop_words.chosen_languages("auto", seen) == (["german", "english"], [])
    assert stop_words.chosen_languages("auto", Counter({"": 5})) == (["english"], [])
    assert stop_words.chosen_languages("fr, Spanish,my.txt,auto", seen)[0] == ["french", "spanish", "german", "english"]
    assert stop_words.chosen_languages("fr,my.txt", seen)[1] == ["my.txt"]
    assert stop_words.chosen_languages(None, seen) == ([], [])


def corpus_of(tmp_path, texts, **words):
    (tmp_path / "file.txt").write_text("\n".join(texts), encoding="utf-8")
    return read_corpus(tmp_path / "file.txt", words=Words(**words))


def test_texts_lose_the_stop_words_of_their_languages(tmp_path):
    corpus = corpus_of(tmp_path, [ARTICLE["german"], ARTICLE["english"], ARTICLE["german"] + " Äpfel"])
    assert corpus.facts["languages"] == "german 2, english 1"
    assert corpus.languages == ["german", "english", "german"]
    assert corpus_of(tmp_path, [ARTICLE["german"], ARTICLE["german"] + " Äpfel"]).languages is None
    assert not {"und", "der", "sind", "and", "are", "with"} & set(corpus.feature_names)
    assert {"menschen", "vernunft", "reason", "äpfel"} <= set(corpus.feature_names)


def test_stop_words_of_a_named_language_and_a_file_are_skipped(tmp_path):
    (tmp_path / "mine.txt").write_text("Vernunft\n")
    given = f"german,{tmp_path / 'mine.txt'}"
    words = set(corpus_of(tmp_path, [ARTICLE["german"]], stop_words=given).feature_names)
    assert "gewissen" in words
    assert not {"und", "vernunft"} & words
    with pytest.raises(ValueError, match="'klingon' is neither a file nor one of: auto, none, arabic"):
        corpus_of(tmp_path, [ARTICLE["german"]], stop_words="klingon")


def test_english_texts_lose_the_words_of_scikit_learn(tmp_path):
    corpus = corpus_of(tmp_path, [f"{ARTICLE['english']} and the {word}" for word in ENGLISH_STOP_WORDS])
    assert not ENGLISH_STOP_WORDS & set(corpus.feature_names)
    assert corpus.facts["stop words"] == "english"


def test_whole_lists_come_from_a_package(tmp_path, monkeypatch):
    pytest.importorskip("stop_words")
    assert "könnte" in stop_words.listed("german")[0]
    assert "german" in corpus_of(tmp_path, [ARTICLE["german"]]).facts["stop words"]
    monkeypatch.setitem(sys.modules, "stop_words", None)
    assert stop_words.listed("german") is None
    assert "pip install 'sparsemix[texts]'" in corpus_of(tmp_path, [ARTICLE["german"]]).facts["stop words"]


def test_derived_stop_words_are_frequent_and_evenly_spread():
    """Words at random places are found; words that crowd in a tenth of the documents, and rare words, are not."""
    rng = np.random.default_rng(0)
    texts = []
    for i in range(200):
        words = [*rng.choice(["even0", "even1", "even2"], 30), *(15 * [f"topic{i % 8}"]), f"rare{i % 50}"]
        texts.append(" ".join(words))
    assert stop_words.derived(texts, str.split) == ["even0", "even1", "even2"]
    assert stop_words.derived(texts[:20], str.split) == []


def test_documents_have_languages_in_their_table(tmp_path):
    (tmp_path / "file.txt").write_text("\n".join([*5 * [ARTICLE["german"]], *5 * [ARTICLE["english"]], "12"]))
    main(["topics", str(tmp_path / "file.txt"), "--max-iter", "1", "--output", str(tmp_path / "out")])
    with (tmp_path / "out" / "documents.csv").open(newline="", encoding="utf-8") as file:
        assert [row["language"] for row in csv.DictReader(file)] == [*5 * ["german"], *5 * ["english"], ""]
