"""Makes the pictures of a report in doc/_static: the README's code for topics, and what a browser shows of its page.

python doc/picture.py

Needs playwright and a Chromium on the path. The page is that of the first block of Python under "Topics" in README.md,
so the pictures show what a reader of it gets.
"""

import argparse
import io
import re
import shutil
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "doc" / "_static"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CODE = re.compile(r"^## Topics\n+```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGE = "report.html"
MOST_BYTES = 200_000
# The window of each picture. On a phone a topic is open, as the list and a topic do not fit next to each other.
PICTURES = {
    "report.png": {"viewport": {"width": 1200, "height": 800}, "color_scheme": "light"},
    "report_phone.png": {
        "viewport": {"width": 390, "height": 844},
        "color_scheme": "dark",
        "device_scale_factor": 1.5,
        "is_mobile": True,
    },
}


def main():
    """Make the page and its pictures."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit('playwright is missing; install it by pip install "sparsemix[browser]"')
    if (browser := next(filter(None, map(shutil.which, BROWSERS)), None)) is None:
        sys.exit("there is no Chromium on the path; install the package chromium of your system")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        with chdir(folder), redirect_stdout(io.StringIO()):
            exec(code_of((ROOT / "README.md").read_text(encoding="utf-8")), {})
        launched = driver.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        for path in take(launched, Path(folder, PAGE), STATIC):
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def code_of(readme):
    """The README's first block of Python under "Topics", which writes the page."""
    found = CODE.search(readme)
    if found is None or PAGE not in found[1]:
        sys.exit(f'README.md has no block of Python under "## Topics" that writes {PAGE}')
    return found[1]


def take(browser, page, folder):
    """Write the pictures of a page."""
    for name, window in PICTURES.items():
        context = browser.new_context(**window)
        tab = context.new_page()
        tab.goto(page.as_uri())
        if window.get("is_mobile"):
            tab.click(".row >> nth=0")
        image = tab.screenshot()
        context.close()
        if len(image) > MOST_BYTES:
            sys.exit(f"{name} has {len(image):,} bytes, more than {MOST_BYTES:,}; make its window smaller")
        (folder / name).write_bytes(image)
        yield folder / name


if __name__ == "__main__":
    main()
