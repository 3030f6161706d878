"""XML and TEI: words are whole, what is no text of the work is left out, and headers give fields."""

import pytest

from sparsemix.texts._reading.corpus import Fields, Words, read_corpus

ALL = Words(stop_words=None)
HEADER = (
    "<fileDesc><titleStmt><title>Plums</title><author><persName><forename>Ann</forename><surname>Lee</surname>"
    "</persName><idno>zebra</idno></author></titleStmt><publicationStmt><date when='2020'/></publicationStmt>"
    "<sourceDesc><date>Leipzig 1804-1805</date><date>1820</date></sourceDesc></fileDesc>"
    "<profileDesc><textClass><keywords><term>Comedy</term></keywords></textClass></profileDesc>"
)


def tei(body, header=HEADER, more=""):
    head = f"<TEI xmlns='http://www.tei-c.org/ns/1.0'><teiHeader>{header}</teiHeader>{more}"
    return f"{head}<text xml:lang='de'><front>zebra</front><body>{body}</body></text></TEI>"


def texts_of(tmp_path, content, **fields):
    (tmp_path / "a.xml").write_text(content)
    corpus = read_corpus(tmp_path / "a.xml", words=ALL, fields=Fields(**fields))
    return corpus, list(corpus.texts.whole())


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<p>a wo<hi>rd</hi> here</p>", "a word here"),
        ("<p>one<lb/>two<pb break='no'/>three</p>", "one twothree"),
        ("<p>first one</p><p>second<x/>one</p>", "first one\n\nsecond one"),
        ("<p>see<list><item>first one</item><item>second one</item></list>now</p>",
         "see\n\nfirst one\n\nsecond one\n\nnow"),
        ("<p>by <name><a>Ann</a><b>Lee</b></name>, too</p>", "by Ann\nLee, too"),
        ("<s><w>first</w><w>one</w></s>", "first\none"),
        ("<lg><l>one line</l><l>and more</l></lg><p>a text</p>", "one line\nand more\n\na text"),
        ("<p>caf&eacute;&nbsp;&mdash; &amp;lt;</p>", "café\u00a0— &lt;"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("wrap", [lambda text: f"<a>{text}</a>", tei])
def test_elements_between_text_join_it_and_others_separate_it(tmp_path, content, text, wrap):
    assert texts_of(tmp_path, wrap(content))[1] == [text]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<p>pear<note>zebra</note> plum<fw>zebra</fw></p>", "pear plum"),
        ("<p>the <choice><sic>zebra</sic><corr>pear</corr></choice>s</p>", "the pears"),
        ("<p>the <choice><abbr>zebra</abbr><expan>pl<ex>um</ex></expan></choice></p>", "the plum"),
        ("<p>a <app><lem>pear</lem><rdg>zebra</rdg></app> and <app><rdg>plum</rdg></app></p>", "a pear and plum"),
        ("<p>an <choice/> apple</p>", "an   apple"),
        ("<sp><speaker>Zebra</speaker><stage>zebra</stage><p>Good bye</p></sp>", "Good bye"),
        ("<figure><head>A pear</head><figDesc>zebra</figDesc></figure>", "A pear"),
    ],
)  # fmt: skip
def test_words_that_are_no_text_of_the_work_are_left_out(tmp_path, content, text):
    assert texts_of(tmp_path, tei(content))[1] == [text]


def test_headers_give_the_fields_of_documents(tmp_path):
    corpus, _ = texts_of(tmp_path, tei("<p>pear</p>"), id="title", date="date", group="author")
    assert (corpus.names, corpus.known("date"), corpus.known("group")) == (["Plums"], ["1804"], ["Ann Lee"])
    for field, value in (("genre", "Comedy"), ("language", "de")):
        assert texts_of(tmp_path, tei("<p>pear</p>"), group=field)[0].known("group") == [value]
    event = "<standOff><listEvent><event when='1803'><desc>1803, in Jena</desc></event></listEvent></standOff>"
    assert texts_of(tmp_path, tei("<p>pear</p>", more=event), date="date")[0].known("date") == ["1803"]
    blank, _ = texts_of(tmp_path, tei("<p>pear</p>", ""), id="title", date="date", group="author")
    assert (blank.names, blank.known("date"), blank.known("group")) == (["pear"], None, None)


def test_works_of_one_file_and_a_header_without_namespace(tmp_path):
    works = [tei(f"<p>{word}</p>", HEADER.replace("Plums", word)) for word in ("pear", "plum")]
    corpus, texts = texts_of(tmp_path, f"<teiCorpus><teiHeader>zebra</teiHeader>{''.join(works)}</teiCorpus>")
    assert (corpus.names, texts) == (["pear", "plum"], ["pear", "plum"])
    old = tei("<p>&dagger;pear</p>").replace(" xmlns='http://www.tei-c.org/ns/1.0'", "").replace("TEI", "TEI.2")
    kind = '<!DOCTYPE TEI.2 PUBLIC "-//TEI" "http://localhost:9/tei.dtd" [<!ENTITY % x SYSTEM "http://localhost:9/">%x;]>'
    assert texts_of(tmp_path, kind + old)[1] == ["†pear"]


def test_an_unknown_entity_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"a\.xml is damaged, or is no \.xml file \(undefined entity"):
        texts_of(tmp_path, "<a>&zebra;</a>")
