"""README, CONTRIBUTING and the architecture page: short enough to read, and every file that they name exists."""

import re
import textwrap
import tomllib
from pathlib import Path

import pytest
from fitted import records

import sparsemix
from sparsemix._version import REPOSITORY

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", "doc/architecture.rst"]
FOLDERS = [ROOT, ROOT / "tests", ROOT / "sparsemix", ROOT / "sparsemix" / "_kernels", ROOT / "doc"]
MOST_WORDS = 5_000
EXAMPLE = r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$"
NAMED = re.compile(r"`+([\w./-]+(?:/|\.(?:py|pyx|h|rst|md|toml)))`+|\]\(([^)#:]+)\)")


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    names = {name.strip() for found in NAMED.findall(text) for name in found if name}
    assert names
    # NAME and FOLDER are for the reader to fill in; make writes _build and .venv.
    names = {name for name in names if not re.search(r"NAME|FOLDER|NNNN|_build|\.venv|^build", name)}
    missing = sorted(name for name in names if not any((folder / name).exists() for folder in FOLDERS))
    assert not missing


def test_the_pages_that_everyone_reads_are_short():
    assert sum(len((ROOT / page).read_text(encoding="utf-8").split()) for page in PAGES) < MOST_WORDS


def test_decisions_are_numbered_without_gaps_and_listed():
    records = sorted(path.stem for path in (ROOT / "doc" / "decisions").glob("[0-9]*.rst"))
    assert [int(name[:4]) for name in records] == list(range(1, len(records) + 1))
    index = (ROOT / "doc" / "decisions" / "index.rst").read_text(encoding="utf-8")
    assert re.findall(r"^   (\d{4}-\S+)$", index, re.MULTILINE) == records


def test_the_paper_has_the_table_of_the_readme_and_its_references():
    text, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("paper/paper.md", "README.md"))
    tables = [page.partition("<!-- results -->")[2].partition("<!-- end of results -->")[0] for page in (text, readme)]
    assert tables[0] == tables[1]
    assert len(re.findall(r"-?\d+\.\d+", tables[0])) > 10
    references = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
    assert set(re.findall(r"@([a-z]+\d{4})", text)) == set(re.findall(r"^@\w+{(\w+),", references, re.MULTILINE))


def test_one_sentence_describes_the_project_everywhere():
    words = (sparsemix.__doc__ or "").split()
    assert words[:2] == ["sparsemix", "fits"]
    sentence = " ".join(words)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["description"] == sentence
    for page in ["README.md", "doc/index.rst", "CITATION.cff", ".zenodo.json", "conda/recipe.yaml", "paper/paper.md"]:
        text = " ".join((ROOT / page).read_text(encoding="utf-8").replace("`sparsemix`", "sparsemix").split())
        assert text.count(sentence) == 1, page


def test_all_files_give_the_version_of_the_package():
    found = {
        "CITATION.cff": r"^version: (.*)$", "conda/recipe.yaml": r"^  version: (.*)$", "CHANGELOG.md": r"^## (.*)$",
    }  # fmt: skip
    for page, pattern in found.items():
        released, _, dev = sparsemix.__version__.partition(".dev")
        wanted = f"{released} (unreleased)" if dev and page == "CHANGELOG.md" else sparsemix.__version__
        assert re.search(pattern, (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE).group(1) == wanted, page
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dynamic"]


def test_front_pages_show_the_same_code_and_output_and_how_to_install():
    readme, index = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "doc/index.rst"))
    for block in first_example(readme):
        assert textwrap.indent(block, "   ") in index
    command = f"pip install git+{REPOSITORY}" if REPOSITORY else "pip install ."
    for page in (readme, index):
        before, _, after = page.partition(command)
        assert len(before.split()) < 30
        assert after.index("front.png") < after.index("SparseSCVB0LDA")


def first_example(readme):
    """Code and output."""
    return re.search(EXAMPLE, readme, re.DOTALL | re.MULTILINE).groups()


@pytest.mark.slow
def test_the_first_example_prints_what_the_readme_shows(tmp_path, monkeypatch, capsys):
    """But for what other docstrings and other instruction sets change: each topic keeps most words, and its share."""
    monkeypatch.chdir(tmp_path)
    code, shown = first_example((ROOT / "README.md").read_text(encoding="utf-8"))
    names = {}
    exec(code, names)
    assert (tmp_path / "report.html").exists()
    printed = capsys.readouterr().out
    *topics, last = shown.splitlines()
    assert len(printed.splitlines()) == len(topics) + 1
    assert re.fullmatch(r"RandomForestClassifier: \d+% topic \d+", printed.splitlines()[-1])
    table = records(names["lda"].topic_table(names["docs"].feature_names, 6))
    for line in topics:
        _, share, *words = line.split()
        common, near = max((len({*words} & {*row["words"]}), row["token_share"]) for row in table)
        assert common >= 4, line
        assert near == pytest.approx(float(share.strip("%")) / 100, rel=0.3), line
    topic = next(line for line in topics if line.split()[0] == last.split()[-1])
    of_forest = next(row["words"] for row in table if row["topic"] == int(printed.split()[-1]))
    assert len({*of_forest} & {*topic.split()}) >= 4
    assert int(last.split()[1].strip("%")) == pytest.approx(100 * names["shares"].max(), abs=8)


@pytest.mark.slow
def test_the_second_example_prints_what_the_front_pages_show(capsys):
    """Its figures are the same for all versions and instruction sets."""
    readme, index = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "doc/index.rst"))
    code, shown = re.findall(EXAMPLE, readme, re.DOTALL | re.MULTILINE)[1]
    for block in (code, shown):
        assert textwrap.indent(block, "   ") in index
    exec(code, {})
    assert capsys.readouterr().out == shown
