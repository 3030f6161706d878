"""Languages of texts, and the stop words that follow from them."""

import csv
import itertools
import pickle
import re
import string
import sys
from collections import Counter
from pydoc_data.topics import topics

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from sparsemix.__main__ import main
from sparsemix.skipgram import TokenSequences
from sparsemix.texts._reading.checks import of_languages
from sparsemix.texts._reading.corpus import Words, read_corpus
from sparsemix.texts._reading.words import languages
from sparsemix.texts._reading.words.function_words import function_words
from sparsemix.texts._reading.words.languages import language_of
from sparsemix.texts._reading.words.tokens import Analyzer

# Article 1 of the Universal Declaration of Human Rights.
ARTICLE = {
    "en": "All human beings are born free and equal in dignity and rights. They are endowed with reason and "
    "conscience and should act towards one another in a spirit of brotherhood.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen "
    "begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et "
    "de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón "
    "y conciencia, deben comportarse fraternalmente los unos con los otros.",
    "it": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e "
    "di coscienza e devono agire gli uni verso gli altri in spirito di fratellanza.",
    "pt": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de "
    "consciência, devem agir uns para com os outros em espírito de fraternidade.",
    "nl": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand "
    "en geweten, en behoren zich jegens elkander in een geest van broederschap te gedragen.",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и "
    "совестью и должны поступать в отношении друг друга в духе братства.",
    "uk": "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і "
    "совістю і повинні діяти у відношенні один до одного в дусі братерства.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni "
    "rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
    "ar": "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا وعليهم أن يعامل بعضهم بعضًا "
    "بروح الإخاء.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "he": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "zh": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
    "bn": "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে।",
    "hi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
    "sw": "Watu wote wamezaliwa huru, hadhi na haki zao ni sawa. Wote wamejaliwa akili na dhamiri.",
    "ka": "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.",
}  # fmt: skip


@pytest.fixture
def extra():
    for package in ("py3langid", "stop_words", "stopwordsiso"):
        pytest.importorskip(package)


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize("language", ARTICLE)
def test_languages_are_recognised_and_lose_their_stop_words(tmp_path, language):
    """Also in capitals, between other texts, and if only the middle of a long text shows the language."""
    text = ARTICLE[language]
    for given in (text, text.upper(), f"{'1 ' * 9000}{text}{' 2' * 9000}"):
        assert language_of(given) == language
    corpus = corpus_of(tmp_path, [text] * 20 + [ARTICLE["de" if language == "en" else "en"]] * 20)
    assert f"{language} 20" in corpus.facts["languages"]
    assert language in re.findall(r"\b[a-z]{2}\b", corpus.facts["stop words"])
    listed = languages.listed(language)
    assert (listed is None) == (language == "ka")
    assert not (listed or set()) & set(corpus.feature_names)


@pytest.mark.parametrize("text", ["", "12 34", "print x", "apple pear plum", "de la musica", "per user per group"])
def test_a_text_of_few_words_has_no_language(text):
    assert language_of(text) == ""


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize("length", [3, 6])
@pytest.mark.parametrize("language", ARTICLE)
def test_short_texts_have_the_language_that_their_corpus_makes_likely(tmp_path, language, length):
    """Also new ones; texts without letters have none, and a few long texts keep their language."""
    words, other = ARTICLE[language].split(), "de" if language == "en" else "en"
    short = [" ".join(words[i : i + length]) for i in range(max(1, len(words) + 1 - length))]
    several = [*short, *max(1, len(short) // 10) * [ARTICLE[other]], "12 34"]
    corpus = corpus_of(tmp_path, several, stop_words=None, token_pattern=r"\S+")
    found = [document.language for document in corpus.inputs]
    assert found.count(other) == several.count(ARTICLE[other])
    assert found[-1] == ""
    # a few are likelier in a language that is close
    assert found[: len(short)].count(language) >= 0.9 * len(short)
    analyzer = pickle.loads(pickle.dumps(Analyzer(str, str, {language: (), other: ()}, corpus.texts.shares)))
    assert [analyzer.language(text) for text in several] == [code or language for code in found]


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize("n_texts", [1, 300])
def test_shares_of_languages_have_the_largest_likelihood(n_texts):
    """Those of a dense EM, where languages that are not kept are equally likely; a text without letters has none."""
    rng = np.random.default_rng(n_texts)
    size, kept = len(languages.known()), languages.KEPT
    dense, scores = np.empty((n_texts, size)), [0] * 2 * kept
    for row in dense:
        numbers, likelihoods = rng.choice(12, kept, replace=False), np.sort(rng.dirichlet(np.full(kept, 0.2)))[::-1]
        row[:] = 0.05 / (size - kept)
        row[numbers] = 0.95 * likelihoods
        order = numbers[np.argsort(-row[numbers], kind="stable")]
        scores += [*order, *row[order]]
    shares = np.full(size, 1 / size)
    for _ in range(languages.MOST_ROUNDS):
        weights = dense * shares
        weights /= weights.sum(axis=1, keepdims=True)
        last, shares = shares, weights.mean(axis=0)
        if np.abs(shares - last).max() < languages.CONVERGED:
            break
    found, learned = languages.languages_of(scores)
    shown = np.bincount(dense.argmax(axis=1)[dense.max(axis=1) > languages.LEAST_PROBABILITY], minlength=size)
    shares[shown < languages.LEAST_SHOWN * n_texts * shares] = 0
    np.testing.assert_allclose(learned, shares + (1 - shares.sum()) / size, atol=1e-9)
    weights = dense * learned
    sure = weights.max(axis=1) > languages.LEAST_PROBABILITY * weights.sum(axis=1)
    codes = np.where(sure, languages.known()[weights.argmax(axis=1)], "")
    assert found == ["", *codes]


@pytest.mark.usefixtures("extra")
def test_few_foreign_titles_are_no_language_of_the_corpus(tmp_path, capsys):
    """Of 600 titles, five are German: too few to name a language, to warn, or for a column."""
    titles = [f"the history of the {word} and of its friends" for word in map(str, range(595))] + 5 * [ARTICLE["de"]]
    (tmp_path / "a.txt").write_text("\n".join(titles), encoding="utf-8")
    main(["topics", str(tmp_path / "a.txt"), "--output", str(tmp_path / "out"), "--n-components", "2",
          "--max-iter", "1", "--format", "lines", "--max-df", "1.0"])  # fmt: skip
    said = capsys.readouterr()
    assert "languages: en 595, not recognised 5\n" in said.out
    assert "several languages" not in said.err
    with (tmp_path / "out" / "documents.csv").open(newline="", encoding="utf-8") as file:
        assert "language" not in next(csv.reader(file))


@pytest.mark.usefixtures("extra")
def test_languages_are_chosen_by_their_share():
    seen = Counter({"de": 90, "en": 12, "fr": 11, "": 487})
    assert languages.main_languages(seen) == ["de", "en"]
    assert languages.chosen_languages("fr, Spanish,my.txt,auto") == (["fr", "es"], ["my.txt"], True)
    assert languages.chosen_languages("NO,norwegian,ka,my.txt") == (["nb", "ka"], ["my.txt"], False)
    assert languages.chosen_languages(None) == ([], [], False)


def corpus_of(tmp_path, texts, **words):
    (tmp_path / "file.txt").write_text("\n".join(texts), encoding="utf-8")
    return read_corpus(tmp_path / "file.txt", words=Words(**words))


@pytest.mark.usefixtures("extra")
def test_texts_lose_the_stop_words_of_their_languages(tmp_path):
    corpus = corpus_of(tmp_path, [ARTICLE["de"], ARTICLE["en"], ARTICLE["de"] + " Äpfel"])
    assert corpus.facts["languages"] == "de 2, en 1"
    assert corpus.languages == ["de", "en", "de"]
    assert corpus_of(tmp_path, [ARTICLE["de"], ARTICLE["de"] + " Äpfel"]).languages is None
    assert not {"und", "der", "sind", "and", "are", "with"} & set(corpus.feature_names)
    assert {"menschen", "vernunft", "reason", "äpfel"} <= set(corpus.feature_names)


# Texts of two languages: "die" and "war" are German stop words and English content, "not" (need) the reverse.
ENGLISH = "the soldiers in the war die of hunger and of the cold"
GERMAN = "die Leute in dem Krieg haben Hunger und die Not war sehr groß"


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("phrases", [False, True])
@pytest.mark.parametrize("stop_words", ["auto", "auto,file"])
def test_a_text_loses_the_stop_words_of_its_own_language_only(tmp_path, monkeypatch, in_order, phrases, stop_words):
    """Also in new texts, by the vectorizer, its copies and pickles; without the extra, by the main language."""
    (tmp_path / "list.txt").write_text("Hunger")
    given, texts = stop_words.replace("file", str(tmp_path / "list.txt")), [*97 * [ENGLISH], *3 * [GERMAN]]
    corpus = corpus_of(tmp_path, texts, stop_words=given, in_order=in_order, phrases=phrases, skip=("Krieg",))
    assert corpus.facts["stop words"].endswith("en, de (each for its own texts)")
    hunger = set() if "file" in stop_words else {"hunger"}
    english = {"soldiers", "cold", *(["war_die"] if phrases else ["war", "die"])} | hunger
    german = {"leute", "not", "groß"} | hunger
    assert set(corpus.feature_names) == english | german
    vectorizer = corpus.vectorizer
    copies = [vectorizer, clone(vectorizer).fit(texts), pickle.loads(pickle.dumps(vectorizer))]
    for made in copies:
        assert [words_of(made, text) for text in (ENGLISH, GERMAN)] == [english, german]
    monkeypatch.setattr(languages, "model", lambda: None)
    for made in copies:
        assert words_of(made, ENGLISH) == english


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize("further", [[], [ARTICLE["de"]]])
@pytest.mark.parametrize("language", ["ar", "ja", "ru"])
def test_texts_lose_english_stop_words_if_they_have_another_script(tmp_path, language, further):
    """So untranslated parts make no topic; texts in Latin letters keep words that are content in their language."""
    text = f"{ARTICLE[language]} {ARTICLE[language]} the {ENGLISH.split()[-1]} and that"
    found = set(corpus_of(tmp_path, [*9 * [text], *further]).feature_names)
    assert not {"the", "and", "that"} & found
    assert "cold" in found
    kept = corpus_of(tmp_path, [*9 * [ARTICLE["de"] + " Who are you"], *further]).feature_names
    assert {"who", "you"} <= set(kept)


def words_of(vectorizer, text):
    """The words that a vectorizer finds in a text."""
    row = vectorizer.transform([text])
    columns = row.data - 1 if isinstance(vectorizer, TokenSequences) else row.indices
    return set(vectorizer.get_feature_names_out()[columns])


# English text in other letters: no language is recognised, or one that has no list.
LATIN = string.ascii_letters
OTHER_LETTERS = {
    "language not recognised": LATIN[13:26] + LATIN[:13] + LATIN[39:] + LATIN[26:39],
    "ka": 2 * "".join(map(chr, range(0x10D0, 0x10D0 + 26))),
}


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("stop_words", ["auto", "auto,de", "ka", None])
@pytest.mark.parametrize("language", OTHER_LETTERS)
def test_without_a_list_texts_lose_the_function_words_of_the_corpus(tmp_path, language, stop_words, in_order):
    """Words of no other language are skipped. The vectorizer and its pickles skip the same words in new texts."""
    texts = [" ".join(text.split()) for text in topics.values()]
    given = [text.translate(str.maketrans(LATIN, OTHER_LETTERS[language])) for text in texts]
    corpus, english = corpus_of(tmp_path, given, stop_words=stop_words, in_order=in_order), languages.listed("en")
    learns = stop_words is not None and (stop_words != "ka" or language == "ka")
    told = re.search(rf"{language} \(no list: (\d+) words of the corpus, such as ", corpus.facts["stop words"])
    assert bool(told) == learns
    lost = set(corpus_of(tmp_path, given, stop_words=None).feature_names) - set(corpus.feature_names)
    if language == "ka" or stop_words != "auto,de":
        assert len(lost) == (int(told[1]) if learns else 0)
        back = str.maketrans(OTHER_LETTERS[language][:26], LATIN[:26])
        assert len({word.translate(back) for word in lost} & english) >= 0.8 * len(lost)
    assert not (ENGLISH_STOP_WORDS - set(languages.listed("de"))) & lost
    copy = pickle.loads(pickle.dumps(corpus.vectorizer))
    assert not words_of(copy, " ".join(lost)) & lost


@pytest.mark.usefixtures("extra")
def test_each_language_loses_its_list_or_its_function_words(tmp_path):
    """And English words in another script, also if they are as frequent as function words."""
    texts = [" ".join(text.split()) for text in topics.values()]
    table = str.maketrans(LATIN, OTHER_LETTERS["ka"])
    is_, georgian = "is".translate(table), [text.translate(table) for text in texts]
    georgian = [re.sub(rf"\b{is_}\b", f"{is_} the and", text) + " with the user" for text in georgian]
    corpus = corpus_of(tmp_path, [*georgian, *texts])
    assert re.fullmatch(r"(en, )?ka \(no list: .*\)(, en)? \(each for its own texts\)", corpus.facts["stop words"])
    found = words_of(corpus.vectorizer, georgian[0])
    assert "user" in found
    assert not found & {"the", "and", "with", "the".translate(table), "and".translate(table)}


@pytest.mark.parametrize("n_words", [20, 2000])
def test_function_words_are_frequent_short_and_evenly_spread(n_words):
    """In short and long texts: not a word of one theme, a long word of all texts, rare words, or a few tags."""
    rng = np.random.default_rng(0)
    function = sorted(map("".join, itertools.product("kmt", "aei", "lnrst")))
    themes = sorted(map("".join, itertools.product("bdfgp", "ou", "cvwxyz")))
    rare = list(map("".join, itertools.product(function, function, "bdf")))
    share = 1 / np.arange(2, 2 + len(function))
    texts = []
    for theme in rng.choice(themes, 80_000 // n_words):
        kinds = [rng.choice(function, n_words, p=share / share.sum()), np.full(n_words, theme),
                 np.full(n_words, "subject"), rng.choice(rare, n_words)]  # fmt: skip
        texts.append(np.choose(rng.choice(4, n_words, p=[0.5, 0.15, 0.05, 0.3]), kinds).tolist())
    found, counts = function_words(texts), Counter(itertools.chain(*texts))
    assert set(found) <= set(function)
    assert {*themes, "subject"} & {word for word, _ in counts.most_common(len(function))}
    assert len(found) >= 0.8 * len(function)
    assert found[0] == counts.most_common(1)[0][0]
    assert len(function_words([rng.choice(function + rare[:200], 10).tolist() for _ in range(5000)])) <= 4
    assert function_words([]) == function_words([["word"]]) == []


@pytest.mark.usefixtures("extra")
def test_stop_words_of_a_named_language_and_a_file_are_skipped(tmp_path):
    (tmp_path / "mine.txt").write_text("Vernunft\n")
    given = f"german,{tmp_path / 'mine.txt'}"
    words = set(corpus_of(tmp_path, [ARTICLE["de"]], stop_words=given).feature_names)
    assert "gewissen" in words
    assert not {"und", "vernunft"} & words
    with pytest.raises(ValueError, match="'klingon' is neither a file nor a language; give auto, none, a file"):
        corpus_of(tmp_path, [ARTICLE["de"]], stop_words="klingon")


@pytest.fixture(params=["py3langid", "stop_words", "stopwordsiso"])
def _without(request, monkeypatch):
    monkeypatch.setitem(sys.modules, request.param, None)
    for found in (languages.model, languages.codes):
        found.cache_clear()
    yield
    for found in (languages.model, languages.codes):
        found.cache_clear()


@pytest.mark.usefixtures("_without")
def test_without_a_package_texts_lose_the_english_words_of_scikit_learn(tmp_path):
    corpus = corpus_of(tmp_path, [f"{ARTICLE['en']} and the {word}" for word in ENGLISH_STOP_WORDS])
    assert not ENGLISH_STOP_WORDS & set(corpus.feature_names)
    assert corpus.facts["languages"] == f"not recognised {len(ENGLISH_STOP_WORDS)}"
    assert corpus.facts["stop words"] == "en (for other languages, pip install 'sparsemix[texts]')"
    with pytest.raises(ValueError, match=r"de or german, which needs pip install 'sparsemix\[texts\]'"):
        corpus_of(tmp_path, [ARTICLE["de"]], stop_words="german")
    with pytest.raises(ValueError, match=r"language that is recognised, and pip install 'sparsemix\[texts\]'"):
        corpus_of(tmp_path, [ARTICLE["de"]], merge_forms=True)
    with pytest.raises(ValueError, match=r"--language needs .*: pip install 'sparsemix\[texts\]'"):
        read_corpus(tmp_path / "file.txt", language="en")


@pytest.mark.usefixtures("extra")
def test_documents_have_languages_in_their_table(tmp_path):
    (tmp_path / "file.txt").write_text("\n".join([*5 * [ARTICLE["de"]], *5 * [ARTICLE["en"]], "12"]))
    main(["topics", str(tmp_path / "file.txt"), "--max-iter", "1", "--output", str(tmp_path / "out")])
    with (tmp_path / "out" / "documents.csv").open(newline="", encoding="utf-8") as file:
        assert [row["language"] for row in csv.DictReader(file)] == [*5 * ["de"], *5 * ["en"], ""]


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        (dict.fromkeys(list(ARTICLE)[:12], 9), "en 9, de 9, fr 9, es 9, it 9, pt 9, 6 more"),
        ({"de": 90, "en": 5, "fr": 5}, "de 90, en 5, fr 5"), ({"de": 91, "en": 5, "fr": 4}, ""),
        ({"de": 7, "en": 4}, ""), ({"": 90, "de": 1}, ""), ({}, ""),
    ],
)  # fmt: skip
def test_texts_outside_the_main_language_are_told(numbers, told):
    """From a tenth of the recognised texts, and 5, whatever the share of each language."""
    found = of_languages([language for language, n in numbers.items() for _ in range(n)])
    assert f"({told})" in found if told else found == ""
    assert f"--language {next(iter(numbers), None)} " in found or not told


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize("given", ["de", "German", "DE"])
def test_texts_of_one_language_are_kept(tmp_path, capsys, given):
    (tmp_path / "file.txt").write_text("\n".join([*3 * [ARTICLE["fr"]], *9 * [ARTICLE["de"]], "12 34 /", "12 34 /"]))
    main(["topics", str(tmp_path / "file.txt"), "--language", given, "--max-df", "1.0", "--max-iter", "1",
          "--output", str(tmp_path / "out")])  # fmt: skip
    said = capsys.readouterr()
    assert "left out: 5 documents (other language)" in said.out
    assert "languages: de 9\n" in said.out
    assert "several languages" not in said.err
    with (tmp_path / "out" / "documents.csv").open(newline="", encoding="utf-8") as file:
        left_out = [row["left_out"] for row in csv.DictReader(file)]
    assert left_out == [*3 * ["other language"], *9 * [""], *2 * ["other language"]]


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize("given", ["sv", "klingon", ""])
def test_a_language_that_no_text_has_is_refused(tmp_path, given):
    (tmp_path / "file.txt").write_text("\n".join([*3 * [ARTICLE["fr"]], *9 * [ARTICLE["de"]], "12 34"]))
    told = rf"--language '{given}': .* has no text in it, but de 9, fr 3, not recognised 1;"
    with pytest.raises(ValueError, match=told):
        read_corpus(tmp_path / "file.txt", language=given)
    (tmp_path / "docword.x.txt").write_text("1\n1\n1\n1 1 1\n")
    with pytest.raises(ValueError, match="holds counts, whose language is not recognised; leave out --language"):
        read_corpus(tmp_path / "docword.x.txt", language=given)
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(ValueError, match=r"empty.txt is empty"):
        read_corpus(tmp_path / "empty.txt", language=given)
