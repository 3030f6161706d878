"""Files of every kind: their text without their markup, and what happens to damaged and hidden ones."""

import io
import json
import mailbox
import sys
import tarfile
import zipfile
from email.message import EmailMessage

import pytest

from sparsemix._commands.reading.corpus import Fields, Words, read_corpus

ALL = Words(stop_words=None)
PAGE = """<!DOCTYPE html><html><head><meta charset="latin-1"><title>Fruit</title><style>p {color: zebra}</style>
<script>zebra()</script></head><body><nav><a href="zebra">zebra</a></nav>
<h1>Plum</h1><p>App<b>le</b>&nbsp;gr\xfcn<br>pear<p>cherry <i>tree</i><footer>zebra</footer></body></html>"""
WORDS_OF_PAGE = {"fruit", "apple", "grün", "plum", "pear", "cherry", "tree"}


def words_of(tmp_path, content, name, words=ALL, **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return set(read_corpus(path, words=words, **options).feature_names)


def archive_of(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


WORD = (
    '<w:document xmlns:w="http://x.org/w"><w:body><w:p><w:r><w:t>Apple</w:t></w:r><w:r><w:tab/><w:t>pear tr</w:t></w:r>'
    "<w:r><w:t>ee</w:t></w:r></w:p><w:p><w:r><w:t>plum</w:t></w:r></w:p></w:body></w:document>"
)
OPEN = '<o:c xmlns:o="o" xmlns:t="t"><t:h>Apple</t:h><t:p>pear<t:tab/>tr<t:span>ee</t:span></t:p><t:p>plum</t:p></o:c>'
NOTEBOOK = {"cells": [{"cell_type": "markdown", "source": ["Apple ", "pear\n"], "outputs": []},
                      {"cell_type": "code", "source": "tree = plum", "outputs": [{"text": "zebra"}]}]}  # fmt: skip
FILES = {
    "page.html": PAGE.encode("latin-1"),
    "page": PAGE.encode("latin-1"),
    "text.md": b"---\ntitle: zebra\n---\n# Apple\n[pear](http://zebra) ![tree](zebra.png) plum\n\n[1]: http://zebra.org\n",
    "word.docx": archive_of({"word/document.xml": WORD, "zebra.xml": "zebra"}),
    "open.odt": archive_of({"content.xml": OPEN, "styles.xml": "zebra"}),
    "slides.pptx": archive_of({"ppt/slides/slide1.xml": WORD}),
    "book.epub": archive_of({"a/1.xhtml": "<p>apple<p>pear", "a/2.html": "<p>tree<p>plum", "a/zebra.css": "zebra"}),
    "note.ipynb": json.dumps(NOTEBOOK),
}


@pytest.mark.parametrize("name", FILES)
def test_texts_lose_their_markup(tmp_path, name):
    words = words_of(tmp_path, FILES[name], name)
    assert words == (WORDS_OF_PAGE if name.startswith("page") else {"apple", "pear", "tree", "plum"})


def test_pages_that_are_all_navigation_are_read(tmp_path):
    assert words_of(tmp_path, "<html><nav>apple <p>pear</nav></html>", "page.htm") == {"apple", "pear"}


def message(subject, body, html=False):
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["Date"] = subject, "Jö <jo@x.org>", "Mon, 5 Feb 2024 23:30:00 -0500"
    mail.set_content(body, subtype="html" if html else "plain")
    mail.add_attachment(b"zebra", maintype="text", subtype="plain", filename="zebra.txt")
    return mail


def write_mailbox(path):
    box = mailbox.mbox(path)
    box.add(message("Äpfel", "apple\n\nFrom here on: pear\n-- \nzebra\n"))
    box.add(message("Re: Äpfel", "Joe wrote:\n> zebra\n>\n> zebra\n\nplum\n"))
    box.add(message("page", "<p>cherry<p>tree", html=True))
    box.close()


@pytest.mark.parametrize("name", ["list.mbox", "Inbox"])
def test_messages_have_fields_and_lose_headers_and_quotations(tmp_path, name):
    write_mailbox(tmp_path / name)
    corpus = read_corpus(tmp_path / name, words=ALL, fields=Fields(date="date", group="from"))
    assert corpus.names == ["Äpfel", "Re: Äpfel", "page"]
    assert set(corpus.feature_names) == {"äpfel", "apple", "from", "here", "pear", "plum", "page", "cherry", "tree"}
    assert corpus.dates == 3 * ["2024-02-06"]
    assert corpus.groups[0] == "Jö <jo@x.org>"


def test_one_message(tmp_path):
    (tmp_path / "one.eml").write_bytes(message("Plum", "apple pear").as_bytes())
    corpus = read_corpus(tmp_path / "one.eml", words=ALL)
    assert (corpus.names, set(corpus.feature_names)) == (["one.eml"], {"plum", "apple", "pear"})


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tar.xz", "tgz"])
def test_archives_are_read_like_folders(tmp_path, kind):
    files = {"a/one.txt": b"apple", "a/two.txt": b"pear", "b/.three.txt": b"zebra", "b/._one.txt": b"\0zebra",
             "__MACOSX/a/one.txt": b"zebra", "c/four.dat": b"zebra"}  # fmt: skip
    path = tmp_path / f"corpus.{kind}"
    if kind == "zip":
        path.write_bytes(archive_of(files))
    else:
        with tarfile.open(path, "w:" + {"tar": "", "tar.gz": "gz", "tgz": "gz", "tar.xz": "xz"}[kind]) as archive:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    corpus = read_corpus(path, words=ALL, fields=Fields(group="folder"))
    assert (corpus.names, corpus.groups) == (["a/one.txt", "a/two.txt"], ["a", "a"])
    assert "(1 .dat)" in corpus.warnings[0]
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ValueError, match=r"is not an archive that can be unpacked|has no file|whole packed file"):
        read_corpus(path, words=ALL)


def test_a_folder_of_many_kinds(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    write_mailbox(tmp_path / "list.mbox")
    corpus = read_corpus(tmp_path, words=ALL)
    expected = {*FILES, "list.mbox: Äpfel", "list.mbox: Re: Äpfel", "list.mbox: page"}
    assert set(corpus.names) == expected
    assert "zebra" not in corpus.feature_names
    (tmp_path / "x.txt").write_text("quince")
    assert read_corpus(tmp_path, words=ALL).names == ["x.txt"]
    assert set(read_corpus(tmp_path, words=ALL, glob="*").names) == expected | {"x.txt"}


def test_damaged_files_are_named_and_left_out(tmp_path):
    """A run over many files does not end with one of them, but says what it left out."""
    for name, content in (("good.txt", b"apple"), ("zero.txt", b"a\0b"), ("pack.txt.gz", b"\x1f\x8b\x08zebra"),
                          ("pdf.txt", b"%PDF-1.7"), ("ok.txt", b"pear")):  # fmt: skip
        (tmp_path / name).write_bytes(content)
    corpus = read_corpus(tmp_path, words=ALL)
    assert corpus.names == ["good.txt", "ok.txt"]
    assert corpus.warnings[0].startswith("3 files or messages are not read, or not to their end (pack.txt.gz: ")
    assert "pdf.txt is a PDF document" in corpus.warnings[0]
    (tmp_path / "good.txt").unlink()
    (tmp_path / "ok.txt").unlink()
    with pytest.raises(ValueError, match=r"pack\.txt\.gz is not a whole packed file"):
        read_corpus(tmp_path, words=ALL)


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


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "cp1251"])
def test_utf_8_that_is_read_as_another_encoding_is_told(tmp_path, encoding):
    (tmp_path / "file.txt").write_text("größe\nkein\nnaïve\n", encoding="utf-8")
    (warning,) = read_corpus(tmp_path / "file.txt", words=ALL, encoding=encoding).warnings
    assert warning.startswith("2 texts are UTF-8, but read as")
    (tmp_path / "file.txt").write_text("große Grüße\n" if encoding != "cp1251" else "слово\n", encoding=encoding)
    assert read_corpus(tmp_path / "file.txt", words=ALL, encoding=encoding).warnings == ()


def test_excel_and_pdf_name_their_extra(tmp_path, monkeypatch):
    for name, package in (("a.xlsx", "openpyxl"), ("a.pdf", "pypdf")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ValueError, match=rf"{package}: pip install 'sparsemix\[files\]'"):
            words_of(tmp_path, b"%PDF", name)


def test_excel(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["id", "text", "n"], [7, "apple pear", 1.5], [None, None, None], [8, 12, None], [9, None, 1]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    corpus = read_corpus(tmp_path / "a.xlsx", words=Words("words", stop_words=None), fields=Fields(id="id"))
    assert corpus.names == ["7", "8"]
    assert corpus.feature_names.tolist() == ["12", "apple", "pear"]
    assert corpus.left_out == {"records without a text": 1}
    with pytest.raises(ValueError, match=r"has no text in the field 'body' \(it has 'id', 'text', 'n'\)"):
        read_corpus(tmp_path / "a.xlsx", fields=Fields("body"))
    with pytest.raises(ValueError, match="is not an Excel file that openpyxl can read"):
        words_of(tmp_path, b"PK\x03\x04", "b.xlsx")


def test_the_sheet_that_is_read_is_named(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "cover"
    for title, word in (("cover", "apple"), ("2020 data", "river")):
        sheet = book[title] if title in book.sheetnames else book.create_sheet(title)
        for row in (["text"], [f"{word} pear"], [f"{word} plum"]):
            sheet.append(row)
    book.save(tmp_path / "a.xlsx")
    first = read_corpus(tmp_path / "a.xlsx", words=Words("words", stop_words=None))
    assert "apple" in first.feature_names
    (told,) = first.warnings
    assert told == "of a.xlsx only the first sheet ('cover') is read, not '2020 data'; --sheet NAME reads another"
    other = read_corpus(tmp_path / "a.xlsx", words=Words("words", stop_words=None), fields=Fields(sheet="2020 data"))
    assert "river" in other.feature_names
    assert other.warnings == ()
    with pytest.raises(ValueError, match=r"has no sheet '2021' \(it has 'cover', '2020 data'\)"):
        read_corpus(tmp_path / "a.xlsx", fields=Fields(sheet="2021"))


def test_pdf(tmp_path):
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.write(tmp_path / "blank.pdf")
    with pytest.raises(ValueError, match="has no text, perhaps scanned pages"):
        read_corpus(tmp_path / "blank.pdf")
    with pytest.raises(ValueError, match="is not a PDF document that pypdf can read"):
        words_of(tmp_path, b"%PDF\0\1", "b.pdf")
    assert words_of(tmp_path, small_pdf("Apple exam-", "ple pear"), "c.pdf") == {"apple", "example", "pear"}


def small_pdf(*lines):
    """A PDF document of one page."""
    show = "0 -20 Td ".join(f"({line}) Tj " for line in lines)
    stream = f"BT /F1 12 Tf 10 100 Td {show}ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 5 0 R/Resources<</Font<</F1 4 0 R>>>>>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
    ]  # fmt: skip
    file, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(file))
        file += f"{number} 0 obj{content}endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer<</Size 6/Root 1 0 R>>\nstartxref\n{len(file)}\n%%EOF"
    return f"{file}xref\n0 6\n0000000000 65535 f \n{table}{end}"


@pytest.mark.parametrize("name", ["a.docx", "a.odt", "a.epub", "a.ipynb"])
def test_files_that_are_not_what_their_names_say(tmp_path, name):
    for content in (b"apple", archive_of({"other": "x"}), FILES["word.docx"][:-30]):
        with pytest.raises(ValueError, match=rf"{name} is not a"):
            words_of(tmp_path, content, name)


@pytest.mark.parametrize(
    ("content", "advice"),
    [(b"PK\x03\x04", "say --format"), (b"{\\rtf1", "save it as .docx or text"), (b"Rar!\x1a", "unpack it"),
     (b"\xd0\xcf\x11\xe0", "save it as .docx, .xlsx or text"), (b"%PDF", "say --format pdf")],
)  # fmt: skip
def test_files_of_other_kinds_are_refused_with_advice(tmp_path, content, advice):
    with pytest.raises(ValueError, match=advice):
        words_of(tmp_path, content, "file.txt")


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


@pytest.mark.parametrize("form", ['{"n": %s, "text": "apple"}', '[{"n": 1},\n{"n": %s, "text": "apple"}]'])
def test_numbers_that_python_does_not_read_are_refused_with_their_place(tmp_path, form):
    with pytest.raises(ValueError, match=r"a\.json, (the value that begins in )?line 1 is not a record .*digits"):
        words_of(tmp_path, form % ("9" * 5000), "a.json")
