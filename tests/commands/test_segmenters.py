"""Words of Chinese and Japanese texts, which have no spaces between words."""

import pickle

import pytest
from sklearn.base import clone

from sparsemix.texts._reading.corpus import Words, read_corpus
from sparsemix.texts._reading.words import segmenters
from sparsemix.texts._reading.words.segmenters import segmented

# Texts with words of each.
TEXTS = {
    "zh": ("自然语言处理是计算机科学领域中的一个重要方向,研究用计算机处理语言。", "计算机 重要 方向 研究 语言"),
    "ja": ("人々は新しい言葉を辞書で調べます。言葉の意味は文章の中で変わります。", "人々 言葉 辞書 意味 文章"),
    "en": ("The people of the village look for new words in the old books.", "people village words books"),
}


@pytest.fixture(autouse=True)
def _packages():
    for package in ("py3langid", "stop_words", "stopwordsiso", "rjieba", "fugashi", "unidic_lite"):
        pytest.importorskip(package)
    segmenters.segmenter.cache_clear()
    yield
    segmenters.segmenter.cache_clear()


def corpus_of(tmp_path, texts, **words):
    (tmp_path / "file.txt").write_text("\n".join(texts), encoding="utf-8")
    return read_corpus(tmp_path / "file.txt", words=Words(**words))


@pytest.mark.parametrize("languages", [("zh",), ("ja",), ("zh", "ja"), ("en", "ja", "zh")])
@pytest.mark.parametrize("options", [{}, {"in_order": True}, {"phrases": True}, {"stop_words": None}], ids=str)
def test_texts_are_segmented_by_their_language(tmp_path, languages, options):
    """Also by copies and pickles of the vectorizer."""
    texts = [TEXTS[language][0] for language in languages for _ in range(4)]
    corpus = corpus_of(tmp_path, texts, **options)
    unspaced = {"zh": "words of zh by rjieba", "ja": "words of ja by fugashi"}
    assert corpus.facts["segmented texts"] == ", ".join(unspaced[one] for one in languages if one != "en")
    assert corpus.warnings == () or "without spaces" not in " ".join(corpus.warnings)
    found = set(corpus.feature_names)
    parts = {part for word in found for part in word.split("_")}
    assert {word for language in languages for word in TEXTS[language][1].split()} <= parts
    assert ("的" in found) == (options == {"stop_words": None} and "zh" in languages)
    vectorizer = corpus.vectorizer
    for made in (clone(vectorizer).fit(texts), pickle.loads(pickle.dumps(vectorizer))):
        assert set(made.get_feature_names_out()) == found
        assert (made.transform(texts) != vectorizer.transform(texts)).nnz == 0


def test_phrases_have_segmented_words(tmp_path):
    corpus = corpus_of(tmp_path, [*9 * ["我们喜欢机器翻译。"], *50 * [TEXTS["zh"][0]]], phrases=True)
    assert "喜欢_机器翻译" in corpus.feature_names


def test_segmented_texts_stay_as_they_are(tmp_path):
    corpus = corpus_of(tmp_path, 5 * ["自然语言处理 是 计算机 科学 领域 中 的 一个 重要 方向"])
    assert "自然语言处理" in corpus.feature_names
    assert "segmented texts" not in corpus.facts


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_without_the_package_texts_need_it(tmp_path, monkeypatch, language):
    vectorizer = corpus_of(tmp_path, 5 * [TEXTS[language][0]]).vectorizer
    saved = pickle.dumps(vectorizer)
    segmenters.segmenter.cache_clear()
    monkeypatch.setattr(segmenters, "find_spec", lambda _: None)
    corpus = corpus_of(tmp_path, 5 * [TEXTS[language][0]])
    assert "pip install 'sparsemix[segmenters]' splits Chinese and Japanese" in " ".join(corpus.warnings)
    with pytest.raises(ImportError, match=rf"in {language} need \w+: pip install 'sparsemix\[segmenters\]'"):
        pickle.loads(saved).transform([TEXTS[language][0]])


def test_runs_of_other_scripts_stay():
    assert segmented("the 自然语言 words", "zh").split() == ["the", "自然语言", "words"]
    assert segmented("人々と時々", "ja").split() == ["人々", "と", "時々"]
