"""Texts honestly read: encodings, words of many scripts, formats, and warnings of what is wrong."""

import csv
import gzip
import io
import json

import numpy as np
import pytest

from sparsemix.texts._reading.corpus import Fields, Words, read_corpus
from sparsemix.texts._reading.formats import files as _files
from sparsemix.texts._reading.texts import EXCERPT
from sparsemix.texts._reading.words import segmenters

ALL = Words(stop_words=None)


def corpus_of(tmp_path, content, name="file.txt", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_corpus(path, words=options.pop("words", ALL), **options)


# -- encodings


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marks_say_the_encoding(tmp_path, encoding):
    corpus = corpus_of(tmp_path, "größe words\nnaïve words\n".encode(encoding))
    assert corpus.feature_names.tolist() == ["größe", "naïve", "words"]
    assert corpus.warnings == ()


def test_other_bytes_are_counted_and_told(tmp_path):
    content = "größe words\nnaïve words\n".encode("latin-1")
    corpus = corpus_of(tmp_path, content)
    (warning,) = corpus.warnings
    assert warning.startswith("3 bytes in 2 places are not utf-8 and split words (line 1, line 2); name the encodings")
    assert "--encoding utf-8,cp1252" in warning
    corpus = corpus_of(tmp_path, content, encoding="latin-1")
    assert corpus.feature_names.tolist() == ["größe", "naïve", "words"]
    assert corpus.warnings == ()


def test_texts_of_another_encoding_without_a_word_name_the_option(tmp_path):
    text = "\u0442\u0435\u043c\u0430 \u0442\u0435\u043a\u0441\u0442\u0430".encode("cp1251")
    for i in range(12):
        (tmp_path / f"{i}.txt").write_bytes(text)
    with pytest.raises(ValueError, match=r"No words are left .* are not utf-8 .* --encoding"):
        read_corpus(tmp_path)


def test_names_in_capitals_and_links_to_nothing_are_files_too(tmp_path):
    for name in ("a.txt", "b.TXT", "c.Txt.gz"):
        content = b"several words of one text"
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    corpus = read_corpus(tmp_path)
    assert corpus.names == ["a.txt", "b.TXT", "c.Txt.gz"]
    assert [each.name for each in corpus.inputs if each.missing] == ["gone.txt"]
    assert "gone.txt" in " ".join(corpus.warnings)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_files_that_are_packed_by_name_only_are_refused(tmp_path, ending):
    path = tmp_path / f"texts.txt{ending}"
    path.write_bytes(b"several words of one text\n" * 12)
    with pytest.raises(ValueError, match=f"only its name ends in {ending}"):
        read_corpus(path)


def test_encodings_are_tried_on_each_file(tmp_path):
    for name, encoding in (("a.txt", "utf-8"), ("b.txt", "cp1252"), ("c.txt", "utf-16")):
        (tmp_path / name).write_text(f"größe “{name}”", encoding=encoding)
    corpus = read_corpus(tmp_path, words=Words(r"gr\w+", stop_words=None), encoding="utf-8,cp1252")
    assert corpus.feature_names.tolist() == ["größe"]
    assert corpus.warnings == ()
    (warning,) = read_corpus(tmp_path, words=ALL).warnings
    assert "4 bytes in 1 places are not utf-8 and split words (b.txt)" in warning
    with pytest.raises(ValueError, match="--encoding utf-9 is not known"):
        read_corpus(tmp_path, encoding="utf-8,utf-9")


def test_utf_16_without_a_mark_is_no_text_unless_it_is_said(tmp_path):
    text = "größe words, слова большие\n"
    for encoding, *others in ("utf-16-le", "utf-16-be"), ("utf-16-be", "utf-16-le"), ("utf-32-be", "utf-16"):
        content = text.encode(encoding)
        for given in ("utf-8", *others):
            with pytest.raises(ValueError, match=f"seems to be in {encoding}, .* add --encoding {given},{encoding}"):
                corpus_of(tmp_path, content, encoding=given)
            for remedy in (encoding, f"{given},{encoding}"):
                assert {"größe", "слова"} <= set(corpus_of(tmp_path, content, encoding=remedy).feature_names)


@pytest.mark.parametrize("encodings", ["utf-8", "utf-8,utf-16-le", "utf-16-be"])
def test_binary_files_get_no_encoding_to_try(tmp_path, encodings):
    numbers = np.random.default_rng(0).integers(0, 40, 4000)
    stray = b"one two\0three four and five "
    for content in (b"\x7fELF\2\1\1" + bytes(9) + b"\3\0>\0" + bytes(40), numbers.astype("<i4").tobytes(), stray * 50):
        if encodings == "utf-16-be" and content.startswith(b"one"):
            continue  # what the user says is Chinese
        with pytest.raises(ValueError, match=r"is not text \(it has zero bytes\); leave out binary files"):
            corpus_of(tmp_path, content, encoding=encodings)


def test_encodings_with_utf_16_read_folders_of_several_encodings(tmp_path):
    encodings = "utf-8,utf-16-le,utf-16-be"
    for name, encoding in zip("abc", encodings.split(","), strict=True):
        (tmp_path / f"{name}.txt").write_bytes("größe words\n".encode(encoding))
    assert read_corpus(tmp_path, words=ALL, encoding=encodings).feature_names.tolist() == ["größe", "words"]
    (warning,) = read_corpus(tmp_path, words=ALL, encoding="utf-8,utf-16-le").warnings
    assert "c.txt seems to be in utf-16-be" in warning
    assert "add --encoding utf-8,utf-16-le,utf-16-be" in warning


def test_halves_of_characters_in_json_are_counted(tmp_path):
    corpus = corpus_of(tmp_path, '{"text": "good words \\ud800 here"}\n', "file.jsonl")
    assert "bytes in 1 places" in corpus.warnings[0]
    assert "words" in corpus.feature_names


def test_composed_and_decomposed_letters_are_one_word(tmp_path):
    assert corpus_of(tmp_path, "cafe\u0301\ncaf\u00e9\n").feature_names.tolist() == ["café"]


# -- words


def test_letters_keep_their_marks(tmp_path):
    text = "हिन्दी भाषा में किताब\nसमय ภาษาที่ ελληνική ΐδιος район Việt ѝзвор\nकिताब"
    words = corpus_of(tmp_path, text).feature_names.tolist()
    assert {"हिन्दी", "भाषा", "किताब", "समय", "ภาษาที่", "ελληνική", "ΐδιος", "район", "việt", "ѝзвор"} <= set(words)


def test_segmented_texts_keep_short_words(tmp_path):
    corpus = corpus_of(tmp_path, "自然 语言 处理\n日本語 の 文\nภาษา ไทย\n")
    assert {"自然", "语言", "の", "文", "ภาษา"} <= set(corpus.feature_names)
    assert corpus.warnings == ()


TOO_LONG = ("自然语言处理是计算机科学中的重要方向", "微臣自愧頭如雪,也向鈞天侍玉皇", "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำ")


@pytest.mark.parametrize("text", TOO_LONG)
def test_texts_without_spaces_need_a_segmenter(tmp_path, monkeypatch, text):
    monkeypatch.setattr(segmenters, "find_spec", lambda _: None)
    corpus = corpus_of(tmp_path, "\n".join([text, text[1:], text[2:]]))
    assert "pip install 'sparsemix[segmenters]' splits Chinese and Japanese" in corpus.warnings[0]


def test_empty_documents_are_told(tmp_path):
    corpus = corpus_of(tmp_path, "apple\n12 34\n56")
    assert "2 of 3 documents have no word of the vocabulary; see --token-pattern" in corpus.warnings[0]
    assert corpus.left_out == {"no known word": 2}


def test_words_can_be_chosen(tmp_path):
    def words(**options):
        corpus = corpus_of(tmp_path, "the b2b of ai in 2024\nthe rare word\n", words=Words(**options))
        return set(corpus.feature_names)

    assert words(stop_words="en") == {"rare", "word"}
    assert words(stop_words=None) == {"the", "rare", "word"}
    assert words(token_pattern="words", stop_words=None) >= {"b2b", "of", "ai", "2024"}
    assert words(token_pattern=r"\b\d+\b") == {"2024"}
    assert words(stop_words=None, min_df=2) == {"the"}
    (tmp_path / "stop").write_text("The\nRARE\n")
    assert words(stop_words=tmp_path / "stop") == {"word"}
    (tmp_path / "only").write_bytes("\ufeffrare\nabsent\n".encode())
    assert words(vocabulary=tmp_path / "only") == {"rare", "absent"}


def test_fragments_are_no_words(tmp_path):
    text = (
        "I don't know, it isn’t the cat's; see https://www.example.com/a?b=c or www.site.org/x, mail me@some.host.net, "
        "ﬁle ＡＢＣＤ İstanbul co\u00adordinate AT&amp;T&nbsp;phone<br />line caf&eacute;"
    )
    words = set(corpus_of(tmp_path, text).feature_names)
    assert words == {"know", "the", "cat", "see", "mail", "file", "abcd", "istanbul", "coordinate", "phone", "line",
                     "café"}  # fmt: skip
    kept = corpus_of(tmp_path, "don't http://x.org", words=Words("spaces", stop_words=None)).feature_names
    assert kept.tolist() == ["don't", "http://x.org"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<hi rend="italic">apple</hi> <TEI:seg>pear</TEI:seg> <Div>plum</Div>', {"apple", "pear", "plum"}),
        ('apple<lb n="3"/>pear<milestone/>plum<img src=zebra>', {"apple", "pear", "plum"}),
        ("<p>apple<li>pear<tr><td>plum<hr>cherry</zebra>", {"apple", "pear", "plum", "cherry"}),
        ("<!-- zebra --><?xml version='1.0'?><!DOCTYPE html>apple <![CDATA[pear]]>", {"apple", "pear"}),
        ("move <source> <dest>; vector<int> if x < limit", {"move", "source", "dest", "vector", "int", "limit"}),
        ("apple&amp;nbsp;pear &amp;amp;quot;plum&quot; &frac12;", {"apple", "pear", "plum"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.json"])
def test_markup_is_no_word_in_any_text(tmp_path, text, words, name):
    content = json.dumps({"text": text}) if name == "a.json" else text
    assert set(corpus_of(tmp_path, content, name).feature_names) == words


def test_copies_are_counted_and_dropped(tmp_path):
    texts = ["apple pear", "Apple  PEAR", "plum", "cherry", "plum"]
    corpus = corpus_of(tmp_path, "\n".join(texts))
    assert corpus.names == ["apple pear", "Apple PEAR", "plum", "cherry", "plum"]
    assert corpus.facts["copies of other documents"] == "2 (--copies drop leaves them out)"
    corpus = corpus_of(tmp_path, "\n".join(texts), drop_copies=True)
    assert corpus.names == ["apple pear", "plum", "cherry"]
    assert [corpus.texts[i] for i in range(3)] == ["apple pear", "plum", "cherry"]
    assert corpus.left_out == {"copy": 2}


# -- formats


RECORDS = [
    {"key": "a", "body": "apple pear", "day": "2024-01-05", "who": "x"},
    {"key": "b", "body": None, "day": "2024-01-06", "who": "y"},
    {"key": "c", "body": "plum pear", "day": None, "who": "y"},
]
FIELDS = Fields("body", "key", "day", "who")


@pytest.mark.parametrize("form", ["lines", "array", "one line", "pretty", "several"])
def test_json_in_every_form(tmp_path, form):
    content = {
        "lines": "\n".join(map(json.dumps, RECORDS)), "array": json.dumps(RECORDS, indent=1),
        "one line": json.dumps(RECORDS), "pretty": "\n".join(json.dumps(record, indent=2) for record in RECORDS),
        "several": json.dumps(RECORDS[:2]) + "\n\n" + json.dumps(RECORDS[2:]),
    }[form]  # fmt: skip
    corpus = corpus_of(tmp_path, content, "file.json", fields=FIELDS)
    assert_records(corpus)


def assert_records(corpus):
    assert corpus.names == ["a", "c"]
    assert corpus.known("date") == ["2024-01-05", ""]
    assert corpus.known("group") == ["x", "y"]
    assert corpus.left_out == {"no text": 1}
    assert [corpus.texts[i] for i in range(2)] == ["apple pear", "plum pear"]


def test_json_of_strings(tmp_path):
    assert corpus_of(tmp_path, '["apple pear", "plum"]', "file.json").names == ["apple pear", "plum"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_tables(tmp_path, delimiter):
    file = io.StringIO()
    table = csv.writer(file, delimiter=delimiter)
    table.writerows([["who", "body", "key"], ["x", 'apple, "red";\npear\tand | more', "a"], [], ["y", "plum", "c"]])
    corpus = corpus_of(tmp_path, file.getvalue(), "file.csv", fields=Fields("body", "key", None, "who"))
    assert corpus.names == ["a", "c"]
    assert corpus.known("group") == ["x", "y"]
    assert corpus.texts[0] == 'apple, "red";\npear\tand | more'
    assert {"apple", "red", "pear", "plum"} <= set(corpus.feature_names)
    assert "body" not in corpus.feature_names


ROWS = [f"{i},apple pear number {i}" for i in range(1, 41)]


def table_of(rows, *, at=None, row=None, delimiter=","):
    """A table with the columns id and text, with ``row`` at line ``at``."""
    rows = [*rows]
    if at is not None:
        rows[at - 2] = row
    return "\n".join(["id,text", *rows, ""]).replace(",", delimiter)


UNCLOSED = "line 10 is not CSV .*; a field that begins with a quote must end with one"
WRONG_TABLES = {
    "a stray quote": (table_of(ROWS, at=10, row='9,"apple pear'), UNCLOSED),
    "a stray quote in the last line": (table_of(ROWS, at=41, row='40,"apple'), "line 41 is not CSV"),
    "a quote without its end in a table of quotes": (
        table_of([f'"{i}","apple, pear"' for i in range(40)], at=10, row='"9","apple, pear'), "line 10 is not CSV",
    ),
    "quotes that are not doubled": (table_of(ROWS, at=10, row='9,"apple "red" pear"'), "line 10 is not CSV"),
    "a quote in the first line": ('id,"text\n1,apple\n', "line 1 is not CSV"),
    "more fields": (table_of(ROWS, at=10, row="9,apple, pear"), "line 10 has 3 fields, but line 1 names 2; give"),
    "fewer fields": (table_of(ROWS, at=10, row="apple pear"), "line 10 has 1 fields, but line 1 names 2; give"),
    "two columns of a name": ("text,id,text\n1,2,3\n", "line 1 has two columns of the name 'text'; rename one"),
    "no names": ("", "line 1 has no names of columns; add them"),
    "zero bytes": (table_of(ROWS * 300, at=10_000, row="9,apple\0pear"), "not text .line 10000 has zero bytes"),
    "TSV with an unclosed field of several lines": (
        table_of(ROWS, at=10, row='9,"apple\nred', delimiter="\t"), UNCLOSED,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_TABLES)
def test_wrong_rows_of_tables_are_refused_by_their_line(tmp_path, name):
    content, message = WRONG_TABLES[name]
    with pytest.raises(ValueError, match=f"file.csv.* {message}") as caught:
        corpus_of(tmp_path, content, "file.csv")
    assert "\n" not in str(caught.value)


def test_texts_of_many_lines_are_one_field(tmp_path):
    """Prose has other numbers of commas in its lines than a row."""
    prose = "\n".join("an apple, red, and a pear" if i % 3 else "a plum" for i in range(500))
    corpus = corpus_of(tmp_path, table_of(ROWS, at=10, row=f'9,"{prose}"'), "file.csv", fields=Fields(id="id"))
    assert corpus.names == [str(i) for i in range(1, 41)]
    assert corpus.texts[8] == prose[:EXCERPT]


TABBED = {
    "no quotes": (["apple", "pear"], ["apple", "pear"]),
    "a stray quote": (['"apple', "pear"], ['"apple', "pear"]),
    "quotes in the middle": (['an "apple"', 'a 5" pear'], ['an "apple"', 'a 5" pear']),
    "quotes around the first word": (['"apple" red', '"pear"'], ['"apple" red', "pear"]),
    "quotes that two rows open and close": (['"apple', 'pear"'], ['"apple', 'pear"']),
    "quotes around lines and tabs": (['"apple\nred"', '"pear\tgreen"'], ["apple\nred", "pear\tgreen"]),
    "quotes around every field": (['"apple ""red"""', '"pear"'], ['apple "red"', "pear"]),
}


@pytest.mark.parametrize("name", TABBED)
def test_quotes_of_tsv_enclose_fields_only_if_all_of_them_do(tmp_path, name):
    given, wanted = TABBED[name]
    rows = "".join(f"{i}\t{text}\n" for i, text in enumerate([*given, *9 * ["more of it"]]))
    corpus = corpus_of(tmp_path, "id\ttext\n" + rows, "file.tsv")
    assert [corpus.texts[i] for i in range(11)] == [*wanted, *9 * ["more of it"]]


def test_zero_bytes_far_into_a_document_of_a_folder_are_refused(tmp_path):
    (tmp_path / "text.txt").write_text("apple " * 10_000 + "\0")
    with pytest.raises(ValueError, match=r"text\.txt is not text \(line 1 has zero bytes\)"):
        read_corpus(tmp_path, words=ALL)


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(RECORDS), tmp_path / "file.parquet")
    assert_records(read_corpus(tmp_path / "file.parquet", fields=FIELDS, words=ALL))
    with pytest.raises(ValueError, match=r"has no text in the field 'text' \(it has 'key', 'body', 'day', 'who'\)"):
        read_corpus(tmp_path / "file.parquet")
    twice = pyarrow.table([["apple"], ["pear"]], names=["text", "text"])
    parquet.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(ValueError, match=r"has two columns of the name 'text'; rename one"):
        read_corpus(tmp_path / "twice.parquet")


def write_workbook(path, **sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title.replace("_", " "))
        for row in rows:
            sheet.append(row)
    book.save(path)


def test_excel(tmp_path):
    pytest.importorskip("pandas")
    rows = ["id", "text", "n"], [7, "apple pear", 1.5], [None, None, None], [8, 12, None], [9, None, 1]
    write_workbook(tmp_path / "a.xlsx", one=rows)
    corpus = read_corpus(tmp_path / "a.xlsx", words=Words("words", stop_words=None), fields=Fields(id="id"))
    assert corpus.names == ["7", "8"]
    assert corpus.feature_names.tolist() == ["12", "apple", "pear"]
    assert [document.missing for document in corpus.inputs] == ["", "", "no text"]
    with pytest.raises(ValueError, match=r"has no text in the field 'body' \(it has 'id', 'text', 'n'\)"):
        read_corpus(tmp_path / "a.xlsx", fields=Fields("body"))
    write_workbook(tmp_path / "b.xlsx", one=(["text", "text"], ["apple", "pear"]))
    with pytest.raises(ValueError, match=r"row 1 has two columns of the name 'text'; rename one"):
        read_corpus(tmp_path / "b.xlsx")


def test_the_sheet_that_is_read_is_named(tmp_path):
    pytest.importorskip("pandas")
    cover, data = ([["text"], [f"{word} pear"], [f"{word} plum"]] for word in ("apple", "river"))
    write_workbook(tmp_path / "a.xlsx", cover=cover, data_2020=data)
    first = read_corpus(tmp_path / "a.xlsx", words=Words("words", stop_words=None))
    assert "apple" in first.feature_names
    assert first.facts["sheets not read"] == "data 2020 of a.xlsx (--sheet NAME reads another)"
    other = read_corpus(tmp_path / "a.xlsx", words=Words("words", stop_words=None), fields=Fields(sheet="data 2020"))
    assert "river" in other.feature_names
    assert "sheets not read" not in other.facts
    with pytest.raises(ValueError, match=r"has no sheet '2021' \(it has 'cover', 'data 2020'\)"):
        read_corpus(tmp_path / "a.xlsx", fields=Fields(sheet="2021"))


def test_paths_and_several_fields_of_json(tmp_path):
    records = [{"id": 1, "post": {"text": "apple", "tags": ["pear", "plum"]}, "a.b": {"c": "cherry"}},
               {"id": 2, "post": {"text": None, "tags": ["tree"]}, "a.b": {"c": None}},
               {"id": 3, "post": None}]  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(records))

    def words(text, **fields):
        corpus = read_corpus(tmp_path / "a.json", words=ALL, fields=Fields(text, **fields))
        return corpus.names, set(corpus.feature_names)

    assert words("post.text", id="id") == (["1"], {"apple"})
    assert words("post.text,post.tags, a.b.c", id="id") == (["1", "2"], {"apple", "pear", "plum", "cherry", "tree"})
    with pytest.raises(ValueError, match=r"no text in the field 'post.body' \(it has 'id', 'post', 'a.b'\)"):
        words("post.body")
    (tmp_path / "a.csv").write_text('title,"a,b",a.b\napple,pear,plum\n')
    for field, found in (("title,a.b", {"apple", "plum"}), ("a,b", {"pear"}), ("a.b", {"plum"})):
        assert set(read_corpus(tmp_path / "a.csv", words=ALL, fields=Fields(field)).feature_names) == found


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.parquet"])
def test_paths_through_lists_join_their_texts(tmp_path, name):
    parts = [{"lines": [{"text": word} for word in words.split()]} for words in ("apple pear", "plum")]
    records = [{"name": "one", "parts": parts, "tags": ["tree"]}, {"name": "two", "parts": [], "tags": None}]
    records += [{"name": "six", "parts": [{"lines": None}, {"lines": [{"text": None}, {"text": "plum"}]}], "tags": []}]
    if name == "a.parquet":
        pytest.importorskip("pyarrow.parquet").write_table(parquet_table(records), tmp_path / name)
    else:
        (tmp_path / name).write_text("\n".join(map(json.dumps, records)))

    def read(text, **fields):
        return read_corpus(tmp_path / name, words=ALL, fields=Fields(text, id="name", **fields))

    corpus = read("parts[].lines[].text,tags[]")
    assert list(corpus.texts.whole()) == ["apple\npear\nplum\n\ntree", "plum"]
    assert (corpus.names, corpus.left_out) == (["one", "six"], {"no text": 1})
    for field in ("text", "parts.lines.text", "parts", "parts[].lines"):
        with pytest.raises(ValueError, match=r"name another by --field, such as 'parts\[\]\.lines\[\]\.text'\.$"):
            read(field)
    with pytest.raises(ValueError, match=r"name another by --date\.$"):
        read("tags", date="created")


def parquet_table(records):
    import pyarrow

    return pyarrow.Table.from_pylist(records)


@pytest.mark.parametrize("form", ['{"n": %s, "text": "apple"}', '[{"n": 1},\n{"n": %s, "text": "apple"}]'])
def test_numbers_that_python_does_not_read_are_refused_with_their_place(tmp_path, form):
    with pytest.raises(ValueError, match=r"a\.json, line 1 is not JSON .*digits"):
        corpus_of(tmp_path, form % ("9" * 5000), "a.json")


def test_files_that_are_not_read_are_told(tmp_path):
    for name in ("a.txt", "b.txt.gz", "c.md", "deep/d.md", "deep/e.TEX", "README", ".hidden", ".git/f.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        data = f"one two three of {name}".encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    (tmp_path / "table.csv").write_text("text\napple\n")
    (tmp_path / "deep" / "d.html").write_text("a page that was converted to d.md")
    corpus = read_corpus(tmp_path, words=ALL)
    assert corpus.names == ["a.txt", "b.txt.gz", "c.md", "deep/d.md", "deep/e.TEX"]
    assert corpus.facts["files"] == "2 .md, 2 .txt, 1 .tex (--glob '*.txt' reads one kind)"
    told = "1 .csv, 1 .html, 1 README (--glob '*' reads all files that hold text)"
    assert corpus.facts["files not read"] == told
    assert read_corpus(tmp_path, glob="*.txt", words=ALL).names == ["a.txt", "b.txt.gz"]
    (tmp_path / "deep" / "d.html").unlink()
    assert "files not read" not in read_corpus(tmp_path, glob="*", words=ALL).facts


def test_folders_give_groups(tmp_path):
    for name in ("a/one", "a/two", "b/three"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.txt").write_text("apple pear")
    assert read_corpus(tmp_path, fields=Fields(group="folder"), words=ALL).known("group") == ["a", "a", "b"]
    assert read_corpus(tmp_path, words=ALL).known("group") is None


@pytest.mark.parametrize("name", ["lines", "json"])
def test_standard_input(monkeypatch, name):
    content = b"apple pear\nplum\n" if name == "lines" else json.dumps(RECORDS, indent=1).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    corpus = read_corpus("-", kind="auto" if name == "lines" else "json", fields=FIELDS, words=ALL)
    assert corpus.feature_names.tolist() == ["apple", "pear", "plum"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"%PDF")))
    with pytest.raises(ValueError, match=r"^standard input is not text, but begins like a \.pdf file"):
        read_corpus("-")


def test_a_line_without_an_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "LONGEST_LINE", 1 << 16)
    with pytest.raises(ValueError, match="line 2 is longer than 65,536 characters"):
        corpus_of(tmp_path, gzip.compress(b"apple\n" + bytes([65]) * (1 << 20)))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "bomb.txt.gz").write_bytes(gzip.compress(bytes([65]) * (1 << 20)))
    with pytest.raises(ValueError, match="line 1 is longer than 65,536 characters"):
        read_corpus(tmp_path / "folder")


def test_excerpts_are_the_beginnings_of_texts(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "IN_MEMORY", 100)
    texts = [f"größe {'word ' * 1000}", "apple", "12", "pear"]
    corpus = corpus_of(tmp_path, "\n".join(texts))
    assert [corpus.texts[i] for i in range(3)] == [texts[0][:2000], "apple", "pear"]
    assert len(corpus.texts) == 3
