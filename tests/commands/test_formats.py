"""Files of every kind: the text that goes in comes out, and a damaged file is named and never read in part."""

import bz2
import gzip
import io
import json
import lzma
import mailbox
import sys
import tarfile
import zipfile
from email.message import EmailMessage

import pytest

from sparsemix.texts._reading.corpus import Fields, Words, read_corpus

ALL = Words(stop_words=None)
TEXTS = ["Apple naïve & café", "größe pear", "tree plum"]
SKIPPED = "zebra"  # a word of markup, navigation, headers and outputs
WORDS = ["apple", "naïve", "café", "größe", "pear", "tree", "plum"]


def paragraphs(tag):
    return "".join(f"<{tag}>{text.replace('&', '&amp;').replace('pl', '<b>pl</b>')}</{tag}>" for text in TEXTS)


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def page(encoding="utf-8"):
    return (
        f'<!DOCTYPE html><html><head><meta charset="{encoding}"><title>zebra</title>'
        f"<style>zebra</style><script>zebra()</script></head><body>"
        f"<nav>zebra</nav>{paragraphs('p')}<footer>zebra</footer></body></html>"
    ).encode(encoding)


def word():
    """A Word document, with a word in two runs, a tab, a line end, a table, and what is deleted."""
    runs = "<w:p><w:r><w:t>App</w:t></w:r><w:r><w:t>le</w:t><w:tab/><w:t>naïve &amp;</w:t><w:br/><w:t>café</w:t></w:r>"
    table = "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>größe</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>pear</w:t></w:r>"
    rest = "<w:p><w:del><w:r><w:delText>zebra</w:delText></w:r></w:del><w:r><w:t>tree plum</w:t></w:r></w:p>"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    body = f"{runs}</w:p>{table}</w:p></w:tc></w:tr></w:tbl>{rest}"
    return zipped({
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r" Type="{relation}" Target="word/document.xml"/></Relationships>',
        "word/document.xml": '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        f"<w:body>{body}</w:body></w:document>",
    })  # fmt: skip


def book():
    """A book, whose pages are read in the order of its spine."""
    container = '<container xmlns="c"><rootfiles><rootfile full-path="in/book.opf"/></rootfiles></container>'
    items = "".join(f'<item id="i{i}" href="page%20{9 - i}.xhtml"/>' for i in range(3))
    spine = "".join(f'<itemref idref="i{i}"/>' for i in range(3))
    package = f'<package xmlns="o"><manifest>{items}</manifest><spine>{spine}</spine></package>'
    pages = {f"in/page {9 - i}.xhtml": f"<p>{text.replace('&', '&amp;')}</p>" for i, text in enumerate(TEXTS)}
    return zipped({"META-INF/container.xml": container, "in/book.opf": package, "in/zebra.css": "zebra", **pages})


def paper(lines=("Apple na\xefve & caf\xe9 gr\xf6\xdfe", "pear tree pl-", "um")):
    """A PDF file of one page."""
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
    return f"{file}xref\n0 6\n0000000000 65535 f \n{table}{end}".encode("latin-1")


def notebook():
    cells = [{"cell_type": "markdown", "source": [f"{text}\n"], "outputs": [{"text": SKIPPED}]} for text in TEXTS]
    return json.dumps({"cells": cells}).encode()


def message(subject, body, html=False):
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["Date"] = subject, "Jö <jo@x.org>", "Mon, 5 Feb 2024 23:30:00 -0500"
    mail.set_content(body, subtype="html" if html else "plain")
    mail.add_attachment(b"zebra", maintype="text", subtype="plain", filename="zebra.txt")
    return mail


def table(delimiter):
    return f"text{delimiter}id\n{' '.join(TEXTS)}{delimiter}7\n".encode()


def workbook():
    openpyxl, file = pytest.importorskip("openpyxl"), io.BytesIO()
    book = openpyxl.Workbook()
    for row in (["id", "text"], [7, " ".join(TEXTS)]):
        book.active.append(row)
    book.save(file)
    return file.getvalue()


def parquet_file():
    pyarrow, file = pytest.importorskip("pyarrow"), io.BytesIO()
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": [" ".join(TEXTS)]}), file)
    return file.getvalue()


TEI = f'<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader>zebra</teiHeader><text>{paragraphs("p")}</text></TEI>'
JSON = json.dumps({"text": TEXTS})
FILES = {
    "text.txt": lambda: "\n".join(TEXTS).encode(), "text.md": lambda: "\n".join(TEXTS).encode(), "page.html": page,
    "old.htm": lambda: page("iso-8859-1"), "word.docx": word, "book.epub": book,
    "paper.pdf": paper, "note.ipynb": notebook,
    "file.xml": lambda: f"<a>{paragraphs('b')}</a>".replace("<b>pl</b>", "pl").encode(),
    "tei.xml": lambda: TEI.replace("<b>pl</b>", "pl").encode(),
    "one.eml": lambda: message("Apple", "naïve & café größe pear\ntree plum\n").as_bytes(),
    "a.csv": lambda: table(","), "a.tsv": lambda: table("\t"), "a.jsonl": JSON.encode,
    "a.json": lambda: json.dumps([json.loads(JSON)], indent=1).encode(), "a.xlsx": workbook, "a.parquet": parquet_file,
}  # fmt: skip
# Kinds whose format shows that a part is missing.
CHECKED = ("word.docx", "book.epub", "paper.pdf", "note.ipynb", "file.xml", "tei.xml", "a.csv", "a.tsv", "a.jsonl",
           "a.json", "a.xlsx", "a.parquet")  # fmt: skip


def read(tmp_path, content, name, words=ALL, **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_corpus(path, words=words, **options)


def needs_libraries():
    for package in ("mammoth", "pypdf", "resiliparse"):
        pytest.importorskip(package)


def words_in_order(corpus):
    analyze = corpus.vectorizer.build_analyzer()
    return [word for text in corpus.texts.whole() for word in analyze(text)]


@pytest.mark.parametrize("name", FILES)
def test_the_text_that_goes_in_comes_out(tmp_path, name):
    needs_libraries()
    corpus = read(tmp_path, FILES[name](), name)
    assert words_in_order(corpus) == WORDS
    assert not [text for text in corpus.warnings if "bytes" in text]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["text.txt", "page.html", "paper.pdf", "one.eml", "a.csv", "a.jsonl"])
def test_compressed_files(tmp_path, name, pack):
    needs_libraries()
    ending = {gzip.compress: ".gz", bz2.compress: ".bz2", lzma.compress: ".xz"}[pack]
    content = pack(FILES[name]())
    assert words_in_order(read(tmp_path, content, name + ending)) == WORDS
    with pytest.raises(ValueError, match="is not a whole packed file"):
        read(tmp_path, content[:-20], name + ending)


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("damage", ["half", "empty", "other", "zeros"])
def test_damaged_files_are_named_with_a_remedy(tmp_path, name, damage):
    content = FILES[name]()
    middle = len(content) // 2
    zeros = content[: middle - 20] + bytes(40) + content[middle + 20 :]
    damaged = {"half": content[:middle], "empty": b"", "other": b"only words, <but no file", "zeros": zeros}[damage]
    with pytest.raises(ValueError, match=rf"{name}.*") as caught:
        read(tmp_path, damaged, name)
    assert "\n" not in str(caught.value)
    (tmp_path / "good.md").write_text("apple")
    corpus = read_corpus(tmp_path, words=ALL, glob="*")
    assert corpus.names == ["good.md"]
    assert any(f"{name}" in text and "not read" in text for text in corpus.warnings)


def test_a_paper_with_a_damaged_page_is_no_shorter_paper(tmp_path):
    pypdf, file = pytest.importorskip("pypdf"), io.BytesIO()
    writer = pypdf.PdfWriter()
    for lines in (["Apple pear"], ["tree plum"]):
        writer.append(io.BytesIO(paper(lines)))
    for written in writer.pages:
        written.compress_content_streams()
    writer.write(file)
    content = bytearray(file.getvalue())
    start = content.rindex(b"stream\n", 0, content.rindex(b"endstream")) + 7
    assert set(words_in_order(read(tmp_path, bytes(content), "whole.pdf"))) == {"apple", "pear", "tree", "plum"}
    content[start + 2 : start + 12] = bytes(10)
    with pytest.raises(ValueError, match=r"b\.pdf is damaged"):
        read(tmp_path, bytes(content), "b.pdf")
    with pytest.raises(ValueError, match=r"blank\.pdf has no text; if its pages are pictures"):
        read(tmp_path, paper([]), "blank.pdf")


def test_pages_that_are_all_navigation_are_read(tmp_path):
    pytest.importorskip("resiliparse")
    assert words_in_order(read(tmp_path, "<html><nav>apple <p>pear</nav></html>", "page.htm")) == ["apple", "pear"]


# -- mail


def write_mailbox(path):
    box = mailbox.mbox(path)
    box.add(message("Äpfel", "apple\n\nFrom here on: pear\n-- \nzebra\n"))
    box.add(message("Re: Äpfel", "Joe wrote:\n> zebra\n>\n> zebra\n\nplum\n"))
    box.add(message("page", "<p>cherry<p>tree", html=True))
    box.close()


@pytest.mark.parametrize("name", ["list.mbox", "list.mbox.gz"])
def test_messages_have_fields_and_lose_headers_and_quotations(tmp_path, name):
    pytest.importorskip("resiliparse")
    write_mailbox(tmp_path / name)
    before = (tmp_path / name).read_bytes()
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(before))
    corpus = read_corpus(tmp_path / name, words=ALL, fields=Fields(date="date", group="from"))
    assert corpus.names == ["Äpfel", "Re: Äpfel", "page"]
    assert set(corpus.feature_names) == {"äpfel", "apple", "from", "here", "pear", "plum", "page", "cherry", "tree"}
    assert corpus.known("date") == 3 * ["Mon, 05 Feb 2024 23:30:00 -0500"]
    assert corpus.known("group")[0] == "Jö <jo@x.org>"
    assert name.endswith(".gz") or (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"only words", b"From x\n"])
@pytest.mark.parametrize("name", ["a.mbox", "a.eml"])
def test_files_without_messages_are_refused(tmp_path, name, content):
    with pytest.raises(ValueError, match=rf"{name}"):
        read(tmp_path, content, name)


def test_a_message_in_an_unknown_encoding_is_named(tmp_path):
    needs_libraries()
    write_mailbox(tmp_path / "a.mbox")
    content = (tmp_path / "a.mbox").read_bytes() + b"\nFrom x\nSubject: b\nContent-Type: text/plain; charset=x\n\nb\n"
    corpus = read(tmp_path, content, "a.mbox")
    assert len(corpus.names) == 3
    assert "1 files or messages are not read, or not to their end (a.mbox, message 4: LookupError" in corpus.warnings[0]


# -- folders


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.7z", "a.odt", "a.doc", "a.pptx", "a.rtf"])
def test_files_to_convert_first_are_refused_with_advice(tmp_path, name):
    office = "is of a kind that is not read; save it as .docx, .pdf or text, for example by soffice --headless"
    is_office = name.endswith((".odt", ".doc", ".pptx", ".rtf"))
    advice = f"{name} {office if is_office else 'is an archive; unpack it, and give the folder or a file of it'}"
    content = gzip.compress(b"apple") if name.endswith("gz") else zipped({"a.txt": "apple"})
    with pytest.raises(ValueError, match=advice):
        read(tmp_path, content, name)
    (tmp_path / "good.txt").write_text("apple")
    assert f"1 {(tmp_path / name).suffix}" in read_corpus(tmp_path, words=ALL).facts["files not read"]
    assert advice in read_corpus(tmp_path, words=ALL, glob="*").warnings[0]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("https://x.org/a.txt", r"^https://x\.org/a\.txt is an address; download the file"),
        ("text.txt", r"text\.txt does not exist; did you mean \S+/texts\.txt\?"),
        ("foldr/a.txt", r"foldr/a\.txt does not exist; did you mean \S+/folder\?"),
        ("a.zip/inner/a.txt", r"a\.zip/inner/a\.txt does not exist: \S+/a\.zip is a file; unpack it"),
        ("zzz", r"zzz does not exist\.$"),
        ("plain.gz", r"plain\.gz is not text, but begins like a \.tar file; give it that ending"),
        ("folder/inner", r"inner has no file that .* is known \(it has \.zip\); give another pattern with --glob"),
    ],
)
def test_a_path_that_cannot_be_read_is_named_with_a_remedy(tmp_path, path, message):
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    for name in ("texts.txt", "folder/a.txt", "a.zip", "folder/inner/a.zip"):
        (tmp_path / name).write_text("apple")
    with tarfile.open(tmp_path / "plain.gz", "w:gz") as archive:
        archive.add(tmp_path / "texts.txt")
    with pytest.raises((ValueError, OSError), match=message):
        read_corpus(path if "://" in path else tmp_path / path, words=ALL)


def test_repeated_ids_are_counted_and_named(tmp_path):
    rows = "\n".join(f"{name},apple pear" for name in "aabbbcddee")
    corpus = read(tmp_path, f"id,text\n{rows}\n", "a.csv", fields=Fields(id="id"))
    (warning,) = corpus.warnings
    assert warning.startswith("4 values of --id occur more than once ('b' (3), 'a' (2), 'd' (2), ...); give")
    assert read(tmp_path, f"id,text\n{rows}\n", "a.csv").warnings == ()


def test_a_folder_of_many_kinds(tmp_path):
    needs_libraries()
    texts = {name: make() for name, make in FILES.items() if name not in ("text.txt", "page") and name[1] != "."}
    for name, content in texts.items():
        (tmp_path / name).write_bytes(content)
    write_mailbox(tmp_path / "list.mbox")
    corpus = read_corpus(tmp_path, words=ALL)
    expected = {*texts, "list.mbox: Äpfel", "list.mbox: Re: Äpfel", "list.mbox: page"}
    assert set(corpus.names) == expected
    assert SKIPPED not in corpus.feature_names
    (tmp_path / "x.txt").write_text("quince")
    assert set(read_corpus(tmp_path, words=ALL).names) == expected | {"x.txt"}
    assert read_corpus(tmp_path, words=ALL, glob="*.txt").names == ["x.txt"]


def test_damaged_files_of_a_folder_are_left_out_and_named(tmp_path):
    for name, content in (("good.txt", b"apple"), ("zero.txt", b"a\0b"), ("pack.txt.gz", b"\x1f\x8b\x08zebra"),
                          ("pdf.txt", b"%PDF-1.7"), ("ok.txt", b"pear")):  # fmt: skip
        (tmp_path / name).write_bytes(content)
    corpus = read_corpus(tmp_path, words=ALL)
    assert corpus.names == ["good.txt", "ok.txt"]
    assert corpus.warnings[0].startswith("3 files or messages are not read, or not to their end (pack.txt.gz is")
    assert "pdf.txt is not text, but begins like a .pdf file" in corpus.warnings[0]
    (tmp_path / "good.txt").unlink()
    (tmp_path / "ok.txt").unlink()
    with pytest.raises(ValueError, match=r"pack\.txt\.gz is not a whole packed file"):
        read_corpus(tmp_path, words=ALL)


@pytest.mark.parametrize(
    ("name", "package"),
    [("page.html", "resiliparse.extract.html2text"), ("word.docx", "mammoth"), ("paper.pdf", "pypdf"),
     ("a.xlsx", "pandas"), ("a.xlsx", "openpyxl"), ("a.parquet", "pyarrow")],
)  # fmt: skip
def test_missing_packages_name_their_extra(tmp_path, monkeypatch, name, package):
    content = FILES[name]()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ValueError, match=rf"{name} needs the package \w+: pip install \"sparsemix\[texts\]\"\.$"):
        read(tmp_path, content, name)


def test_outputs_of_an_earlier_run_are_no_documents(tmp_path):
    for name in ("a", "b", "deep/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.html").write_text("<p>apple pear plum</p>")
    for name in ("topics.csv", "run.json", "report.html"):
        (tmp_path / "deep" / "sparsemix-topics").mkdir(exist_ok=True)
        (tmp_path / "deep" / "sparsemix-topics" / name).write_text("apple apple")
    (tmp_path / "deep" / "sparsemix-topics" / "d.html").write_text("<p>apple pear plum</p>")
    for options in ({}, {"glob": "*.html"}):
        names = read_corpus(tmp_path, words=Words(), **options).names
        assert names == ["a.html", "b.html", "deep/c.html", "deep/sparsemix-topics/d.html"]
