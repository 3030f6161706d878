"""Long texts as passages, the number of topics that a corpus has words for, and topics that repeat others."""

import csv
import json
import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from sparsemix.__main__ import main
from sparsemix.texts._commands.quality import fillers, likenesses
from sparsemix.texts._reading.chapters import chapters, number_of
from sparsemix.texts._reading.corpus import Fields, Words, read_corpus
from sparsemix.texts._reading.passages import is_one_text, spans

ALL = Words(stop_words=None)


def sentences(n, seed=0):
    rng = np.random.default_rng(seed)
    return " ".join(" ".join(rng.choice(["apple", "pear", "plum"], rng.integers(3, 12))) + "." for _ in range(n))


@pytest.mark.parametrize("text", [sentences(400), sentences(1), sentences(400).replace(".", ""), "", "字" * 9000])
@pytest.mark.parametrize("n_words", [1, 7, 100])
def test_passages_are_a_partition_at_ends_of_sentences(text, n_words):
    found = [text[begin:end] for begin, end in spans(text, n_words)]
    assert "".join("".join(found).split()) == "".join(text.split())
    if text.isascii():
        assert all(len(passage.split()) <= 1.5 * n_words + 1 for passage in found)
        assert all(len(passage.split()) >= n_words / 2 for passage in found[:-1])
    if "." in text and n_words == 100:
        assert all(passage.rstrip().endswith(".") for passage in found)


def corpus_of(tmp_path, text, name="book.txt", words=ALL, **options):
    (tmp_path / name).write_text(text, newline="")
    return read_corpus(tmp_path / name, words=words, **options)


def test_a_single_long_text_becomes_passages(tmp_path):
    text = sentences(1000)
    for name in ("book.txt", "book.md", "book.tex"):
        corpus = corpus_of(tmp_path, text, name)
        assert corpus.names[1].endswith(", passage 2")
        assert corpus.facts["passages"].startswith(f"{len(corpus.names)} of about 300 words, since the text has ")
    assert len(corpus_of(tmp_path, text, passages=50).names) > 2 * len(corpus_of(tmp_path, text).names)
    whole = corpus_of(tmp_path, text, passages=0)
    assert (len(whole.names), "passages" in whole.facts) == (1, False)
    (tmp_path / "a.csv").write_text(f"id,day,text\n7,2024-01-01,{text}\n8,2024,short\n")
    corpus = read_corpus(tmp_path / "a.csv", words=ALL, fields=Fields("text", "id", "day"), passages=100)
    assert corpus.names[:2] == ["7, passage 1", "7, passage 2"]
    assert corpus.names[-1] == "8, passage 1"
    assert corpus.known("date")[0] == "2024-01-01"


def test_passages_follow_the_median_of_all_documents(tmp_path):
    """Half of the documents must be long; a few long ones among short ones stay whole."""
    long, short = sentences(300), sentences(20)
    for n_long, n_short, cut in ((3, 2, True), (2, 3, False), (1, 0, True), (0, 3, False)):
        corpus = corpus_of(tmp_path, "\n".join([*n_long * [long], *n_short * [short]]), kind="lines")
        assert corpus.is_cut == cut
        assert len(corpus.inputs) == n_long + n_short
        assert (len(corpus.names) > len(corpus.inputs)) == cut
        # the texts of passages are the documents, in order
        for number in range(len(corpus.inputs)):
            rows = np.flatnonzero(corpus.numbers == number)
            text = [long, short][number >= n_long]
            assert "".join("".join(corpus.texts.whole(rows)).split()) == "".join(text.split())
    japanese = corpus_of(tmp_path, "今日は良い天気です。" * 4000, words=Words("spaces", None, max_df=1.0))
    assert japanese.is_cut


@pytest.mark.parametrize(
    ("headings", "n"),
    [
        ([f"CHAPTER {n}" for n in ("I.", "II. Of apples", "III.", "IV.")], 4), (["1", "2", "3"], 3),
        ([f"Kapitel {n}" for n in (1, 2, 3, 1, 2)], 5), (["## 1. Pears", "## 2. Plums", "## 3"], 3),
        (["I said", "I saw", "I had"], 0), (["1", "7", "3"], 0), (["Chapter I", "Chapter II"], 0),
        (["1914", "1915", "1916"], 0), ([f"Chapter {n}" for n in (1, 2, 3, 5, 6, 8, 9)], 7),
        (["II.", "III", "IV: Figs"], 3), (["Act One", "Act Two", "Act Three Hundred"], 3),
        (["Erstes Kapitel", "Zweites Kapitel", "Letztes Kapitel."], 3),
        (3 * ["A running head"], 0), (["He said", "She said", "They said so"], 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_chapters_have_headings_with_numbers(tmp_path, headings, n, end):
    text = "".join(f"\n\n{heading}\n\n{sentences(150, seed)}" for seed, heading in enumerate(headings))
    contents = "\n\n".join(headings)
    text = f"{contents}\n\nA book about fruit.{text}".replace("\n", end)
    found, stop = chapters(text), "." if headings[0] == "Erstes Kapitel" else ""
    assert [title for title, _ in found] == [" ".join(heading.split()).rstrip(stop) for heading in headings[:n]]
    assert all(text[start:].startswith(title.split()[0]) for title, start in found)
    corpus = corpus_of(tmp_path, text, kind="text")
    titles = list(dict.fromkeys(filter(None, corpus.texts.chapters)))
    assert titles == list(dict.fromkeys(title for title, _ in found))
    assert all(corpus.texts[i].split()[0] in title for i, title in enumerate(corpus.texts.chapters)
               if title and (i == 0 or corpus.texts.chapters[i - 1] != title))  # fmt: skip


def test_a_short_chapter_is_one():
    """Also one of a line; and lines with numbers inside a chapter do not end it."""
    lengths = [200, 200, 1, 200, 200]
    text = "".join(f"\n\n{n}.\n\n{sentences(length, n)}" for n, length in enumerate(lengths, start=1))
    assert [title for title, _ in chapters(text)] == ["1.", "2.", "3.", "4.", "5."]
    listed = text.replace("\n\n4.", "\n\n17.\n\n3.\n\n4.")
    assert [title for title, _ in chapters(listed)][-2:] == ["4.", "5."]


@pytest.mark.parametrize("section", ["{}", "{}.", "Section {}", "{}. Of plums"])
@pytest.mark.parametrize("chapter", ["Chapter {}", "{}"])
def test_chapters_win_over_their_sections_and_pages(section, chapter):
    """Roman chapters without a word too; and pages of many words."""
    numbers = ["I", "II", "III", "IV", "V", "VI"]
    parts = [f"\n\n{section.format(n)}\n\n" + sentences(110, n) for n in (2, 3)]
    book = "".join(f"\n\n{chapter.format(n)}\n\n{sentences(110, i)}{''.join(parts)}" for i, n in enumerate(numbers))
    assert [title for title, _ in chapters(book)] == [chapter.format(n) for n in numbers]
    pages = iter(range(1, 99))
    paged = "".join(f"\n\n{next(pages)}\n\n{sentences(110, n)}" for n in range(12))
    cut = paged.split("\n\n7\n\n")
    book = f"Chapter 1\n{cut[0]}\n\nChapter 2\n\n7\n\n{cut[1]}\n\nChapter 3\n\n13\n\n{sentences(300)}"
    assert [title for title, _ in chapters(book)] == ["Chapter 1", "Chapter 2", "Chapter 3"]


def test_short_chapters_are_pages_or_lists():
    assert not chapters("".join(f"\n\n{n}\n\n{sentences(40, n)}" for n in range(1, 30)))
    assert [number_of(text) for text in ("12", "iv", "XLIX", "C", "xc")] == [12, 4, 49, 100, 90]


def test_wrapped_lines_are_one_text(tmp_path):
    words, lines, line = sentences(800).split(), [], ""
    for word in words:
        if len(line) + len(word) > 70:
            lines, line = [*lines, line.strip()], ""
        line += " " + word
    assert corpus_of(tmp_path, "\n".join(lines)).names[0] == "book.txt, passage 1"
    assert len(corpus_of(tmp_path, "\n".join(lines), kind="lines").names) == len(lines)
    parts = [sentences(150, n).title().replace(". ", ".\n\n", 50) for n in range(1, 5)]
    paragraphs = "".join(f"Chapter {n}\n\n{part}\n\n" for n, part in enumerate(parts, start=1))
    assert corpus_of(tmp_path, paragraphs).texts.chapters[-1] == "Chapter 4"
    tweets = [" ".join(words[7 * i : 7 * i + 1 + i % 7]) for i in range(400)]
    assert len(corpus_of(tmp_path, "\n".join(tweets)).names) == 400


def prose(n, seed=0):
    """Paragraphs of sentences with capitals."""
    rng = np.random.default_rng(seed)
    words = ["apple", "pear", "plum", "cherry", "fig", "banana", "elderberry", "of", "the", "and"]

    def sentence():
        some = rng.choice(words, rng.integers(4, 18))
        return " ".join(some).capitalize().replace(" and ", ", and ", 1) + "."

    return [" ".join(sentence() for _ in range(rng.integers(2, 7))) for _ in range(n)]


def titles(n, seed=0, capital=True):
    rng = np.random.default_rng(seed)
    words = ["apple", "pear", "plum", "cherry", "fig", "banana", "elderberry", "of", "the", "and"]
    found = (" ".join(rng.choice(words, rng.integers(3, 13))) for _ in range(n))
    return [title.capitalize() if capital else title for title in found]


def wrapped(paragraph, width=72):
    return "\n".join(textwrap.wrap(paragraph, width))


def verses(paragraph):
    """Lines that begin with a capital; sentences end inside some of them."""
    parts = re.split(r"(?<=,) |(?<=[.]) (?=[A-M])| (?=of )", paragraph.replace(" the ", ", the "))
    return "\n".join(part[:1].upper() + part[1:] for part in parts)


ONE_TEXT = {
    "paragraphs of wrapped lines": lambda n: "\n\n".join(map(wrapped, prose(n))),
    "wrapped lines alone": lambda n: wrapped(" ".join(prose(n))),
    "indented paragraphs": lambda n: "\n".join(f"   {wrapped(part)}" for part in prose(n)),
    "chapters": lambda n: "\n\n".join(
        f"Chapter {i + 1}\n\n{wrapped(part)}" if i % 9 == 0 else wrapped(part) for i, part in enumerate(prose(n))
    ),
    "a line for a paragraph": lambda n: "\n\n".join(prose(n)),
    "stanzas": lambda n: "\n\n".join(map(verses, prose(n))),
    "speeches": lambda n: "\n\n".join(f"{'AB'[i % 2]}:\n{wrapped(part, 50)}" for i, part in enumerate(prose(n))),
    "a script without capitals": lambda n: "\n".join(textwrap.wrap(n * "今日は良い天気ですと私は言った。雨。", 30)),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_TEXT)
@pytest.mark.parametrize("n", [30, 300])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_that_continue_each_other_are_one_text(name, n, end):
    assert is_one_text(f"{line}{end}" for line in ONE_TEXT[name](n).split("\n"))


COUNTERS = [
    "Day {}: {}", "{}. {}", "Game {} - {}", "Week {}. {}", "Part {}", "Chapter {}: {}", "CHAPTER {}", "#{} {}",
    "2024-01-02 10:00:{:02d} INFO {}", "[{}] {}", "{}", "{}) {}",
]  # fmt: skip
LISTS = {
    "every line": lambda count, some: [count(i + 1, title) for i, title in enumerate(some)],
    "three lines": lambda count, some: [
        count(1 + i * 5 // len(some), title) if i % max(1, len(some) // 5) == 3 else title
        for i, title in enumerate(some)
    ],
    "blank lines": lambda count, some: [line for i, title in enumerate(some) for line in (count(i + 1, title), "")],
    "sections": lambda count, some: [
        line for i, title in enumerate(some) for line in ([] if i % 9 else ["", count(i // 9 + 1, ""), ""]) + [title]
    ],
    "sentences": lambda count, some: [f"{count(i + 1, title)}." for i, title in enumerate(some)],
}  # fmt: skip


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("capital", [True, False])
def test_a_list_of_titles_is_no_text(counter, kind, capital):
    """Whatever counts, and for any number of lines."""
    lines = LISTS[kind](counter.format, titles(3000, capital=capital))
    assert not any(is_one_text(lines[:n]) for n in (10, 12, 15, 20, 30, 50, 100, 300, 1000, len(lines)))


def test_messages_without_capitals_are_no_text():
    """Also where they are cut at a width; four of ten begin with a small letter."""
    lines = [part[3:].strip() if i % 5 < 2 else part for i, part in enumerate(prose(2000))]
    for width in (60, 140, 999):
        cut = [line[:width] for line in lines]
        assert not any(is_one_text(cut[:n]) for n in (10, 20, 50, 200, 2000))


@pytest.mark.parametrize(("text", "other"), [
    ("\n".join(f"Day {i}: {title}" if i < 4 else title for i, title in enumerate(titles(900))), "text"),
    (ONE_TEXT["chapters"](200), "lines"),
])  # fmt: skip
def test_the_command_names_the_reading_and_the_option_for_the_other_one(tmp_path, capsys, text, other):
    (tmp_path / "a.txt").write_text(text)
    command = ["topics", str(tmp_path / "a.txt"), "--force", "--output", str(tmp_path / "out"), "--topics", "2",
               "--max-iter", "1", "--runs", "1", "--n-jobs", "1", "--max-df", "1.0", "--min-df", "1"]  # fmt: skip
    found = {}
    for options in ((), ("--format", other)):
        main([*command, *options])
        printed = capsys.readouterr().out
        with (tmp_path / "out" / "documents.csv").open(newline="") as file:
            found[options] = len(list(csv.reader(file)))
        (told,) = re.findall(r"^lines: .*\((--format \w+) makes", printed, re.MULTILINE) or [None]
        assert told == (None if options else f"--format {other}")
        if proposed := re.search(r"^passages: .*\((--passages \d+)", printed, re.MULTILINE):
            main([*command, *options, *proposed[1].split()])
            capsys.readouterr()
    assert min(found.values()) == 2 < max(found.values())


def test_a_text_that_is_too_short_is_told_how_to_cut_it(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("\n\n".join(map(wrapped, prose(30))))
    command = ["topics", str(tmp_path / "a.txt"), "--output", str(tmp_path / "out"), "--n-jobs", "1"]
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--passages", "0"])
    told = capsys.readouterr().err
    for options in re.findall(r"--(?:passages|format) \w+", told):
        main([*command, "--force", "--max-df", "1.0", *options.split()])


def test_topics_that_repeat_are_found():
    rng = np.random.default_rng(0)
    distinct = rng.dirichlet(np.full(300, 0.05), size=8)
    corpus = distinct.mean(axis=0)
    components = np.vstack([distinct, distinct[2] * 7 + 1e-4, corpus * 100])
    order = [2, 0, 1, 9, 8, 3, 4, 5, 6, 7]
    assert likenesses(components, corpus, order) == [*8 * [""], "topic 2", "the corpus"]
    assert likenesses(components, corpus, [8, *order])[2] == "topic 8"
    assert likenesses(components[[0, 9]], corpus, [0, 1]) == ["", ""]  # the corpus is the mean of few topics


def test_topics_that_begin_with_the_same_words_repeat_each_other():
    """Half of the ten main words make a topic a repeat, however the other words differ; fewer do not."""
    topics = np.zeros((40, 600))
    topics[4:, 200:] = np.random.default_rng(0).dirichlet(np.full(400, 0.05), size=36) * 110
    for k, n_shared in enumerate([10, 8, 5, 4]):
        topics[k, :n_shared] = 5.0
        topics[k, 10 * k + n_shared : 10 * k + 10] = 5.0
        topics[k, 40 + 40 * k : 80 + 40 * k] = 1.5
    assert likenesses(topics, topics.sum(axis=0), range(40)) == ["", "topic 0", "topic 0", *37 * [""]]
    assert likenesses(np.eye(8)[:2] + np.eye(8)[2:4], np.ones(8), [0, 1]) == ["", ""]  # ten words are the vocabulary


def test_fillers_are_words_of_many_topics():
    lists = [["using", f"a{i}", *(["package"] if i < 5 else [])] for i in range(20)]
    assert fillers(lists) == [("using", 20), ("package", 5)]
    assert fillers(lists[:4]) == []


def test_the_number_of_topics_follows_from_the_corpus(tmp_path, capsys):
    """The root of the number of words, divided by 8; fillers that can be skipped, and marks in all outputs."""
    rng = np.random.default_rng(0)
    themes = [
        [f"{theme}{word}" for word in "abcdefgh"] for theme in ("red", "blue", "green", "black", "white", "brown")
    ]
    texts = [" ".join([*rng.choice(themes[i % 6], 20), *(30 * ["filler"])]) for i in range(300)]
    (tmp_path / "a.txt").write_text("\n".join(texts))
    output = tmp_path / "out"
    command = [
        "topics",
        str(tmp_path / "a.txt"),
        "--max-df",
        "1.0",
        "--output",
        str(output),
        "--force",
        "--n-jobs",
        "1",
    ]
    main(command)
    printed = capsys.readouterr().out
    assert "300 documents, 15,000 tokens of 49 words; 15 topics from 270" in printed
    assert "(--n-components changes the number of topics)" in printed
    assert "filler (" in printed
    assert re.search(r"add --force --skip \S*filler", printed)
    main([*command, "--skip", "Filler", "--n-components", "20", "--max-iter", "20"])
    printed = capsys.readouterr().out
    assert "filler" not in printed
    with (output / "topics.csv").open(newline="") as file:
        repeats = [row["repeats"] for row in csv.DictReader(file)]
    n_distinct = repeats.count("")
    assert n_distinct < 20
    facts = json.loads((output / "run.json").read_text())["facts"]
    assert facts["distinct topics"] == f"{n_distinct} of 20"
    assert "like topic" in printed or "like the corpus" in printed


def test_unreadable_dates_are_told(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("text,day\n" + "\n".join(f"apple pear,{day}" for day in ["soon", "2024-01-02"] * 9))
    command = ["topics", str(tmp_path / "a.csv"), "--output", str(tmp_path / "out"), "--max-df", "1.0", "--force"]
    main([*command, "--date", "day", "--max-iter", "1"])
    told = capsys.readouterr().err
    soon = 3 * "'soon' of apple pear, "
    assert f"9 of 18 dates are not read ({soon}...); write them like 2024-01-31" in told


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux")
def test_a_full_disk_is_an_error_and_a_closed_pipe_is_none():
    command = [sys.executable, "-m", "sparsemix", "--version"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment, check=False)
    assert done.returncode == 1
    assert done.stderr == b"sparsemix: error: standard output: No space left on device\n"
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def dated(tmp_path, capsys, days, *options):
    """What the command says of a table with these dates, and the periods that it finds."""
    lines = [f'"apple pear plum",{day},{group}' for day, group in zip(days, ["a", "", *"b" * 60], strict=False)]
    (tmp_path / "a.csv").write_text("\n".join(["text,day,who", *lines]))
    main(["topics", str(tmp_path / "a.csv"), "--output", str(tmp_path / "out"), "--max-df", "1.0", "--force",
          "--date", "day", "--group", "who", "--n-components", "2", "--max-iter", "1", *options])  # fmt: skip
    path, said = tmp_path / "out" / "over_time.csv", capsys.readouterr()
    periods = {}
    if path.exists():
        with path.open(newline="") as file:
            periods = {row["period"]: int(row["documents"]) for row in csv.DictReader(file)}
    return said, periods


def test_the_command_reads_dates_of_several_countries_and_asks_for_their_order(tmp_path, capsys):
    said, periods = dated(tmp_path, capsys, ["31.01.2020", "28.02.2020"] * 12)
    assert sum(periods.values()) == 24
    assert "documents without a group: 1\n" in said.out
    assert "date" not in said.err
    said, periods = dated(tmp_path, capsys, ["2020-01-01", "01/02/2020", "03/02/2020"] * 8)
    assert "16 of 24 dates are not read ('01/02/2020' of apple pear plum" in said.err
    assert "give --date-format %d/%m/%Y or %m/%d/%Y" in said.err
    assert sum(periods.values()) == 8
    for form, days in (("%d/%m/%Y", ["2020-02-01", "2020-02-03"]), ("%m/%d/%Y", ["2020-01", "2020-03"])):
        said, periods = dated(tmp_path, capsys, ["01/02/2020", "03/02/2020"] * 12, "--date-format", form)
        assert [n for n in periods.values() if n] == [12, 12]
        assert [min(periods)[: len(days[0])], max(periods)[: len(days[1])]] == days
        assert "dates" not in said.err
    said, _ = dated(tmp_path, capsys, ["2020", "31.01.2020", ""] * 8, "--date-format", "%Y")
    assert "they do not have the --date-format %Y" in said.err
    said, periods = dated(tmp_path, capsys, ["31.01.2020", "", "soon"] * 8)
    assert "documents without a date: 16 (8 dates are not read)\n" in said.out
    assert sum(periods.values()) == 8


def test_the_command_counts_and_names_dates_far_from_the_rest(tmp_path, capsys):
    said, periods = dated(tmp_path, capsys, ["9999-12-31", *["2020-01-31", "2020-02-01"] * 12])
    assert periods == {"2020-01-31": 12, "2020-02-01": 12}
    assert re.search(r"^dates far from the rest +1 \(9999-12-31 of apple pear plum\); they are in no period$", said.out,
                     re.MULTILINE)  # fmt: skip
    assert (tmp_path / "out" / "report.html").read_text().count('["dates far from the rest"') == 1


@pytest.mark.parametrize(("days", "options", "remedy"), [
    (["soon", "later"], [], "write them like 2024-01-31, or give their --date-format"),
    (["01/02/2020", ""], [], "give --date-format %d/%m/%Y or %m/%d/%Y"),
    (["2020-01-31", "2020-02-01"], ["--date-format", "%Y"], "they do not have the --date-format %Y"),
])  # fmt: skip
def test_the_command_ends_if_it_reads_no_date(tmp_path, capsys, days, options, remedy):
    with pytest.raises(SystemExit) as end:
        dated(tmp_path, capsys, days * 12, *options)
    n = 12 * sum(map(bool, days))
    told = capsys.readouterr().err
    assert end.value.code == 2
    assert f"error: --date: {n} of 24 dates are not read ('{days[0]}' of apple pear plum" in told
    assert remedy in told
    assert not (tmp_path / "out").exists()


def test_the_command_allows_dates_that_are_all_blank(tmp_path, capsys):
    said, periods = dated(tmp_path, capsys, [""] * 24)
    assert not periods
    assert "date" not in said.err
