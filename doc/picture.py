"""Makes the pictures of the front page in doc/_static: topics, regions of a photograph, and a report in a browser.

python doc/picture.py           all pictures
python doc/picture.py --front   topics and regions only, which need no browser

The pictures of the report need playwright and a Chromium on the path. Topics and report are those of the first block of
Python under "Topics" in README.md, so the pictures show what a reader of it gets.
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
# The topics of front.png are those with these words.
SHOWN = ("cluster", "tree", "hypothesis", "lasso")
COLOURS = ("#d9572b", "#3b82c4", "#3f9a55", "#9a63c4")
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
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--front", action="store_true", help="only the picture that needs no browser")
    if parser.parse_args().front:
        with tempfile.TemporaryDirectory() as folder:
            return draw(topics_of_the_readme(folder), STATIC)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit('playwright is missing; install it by pip install "sparsemix[browser]"')
    if (browser := next(filter(None, map(shutil.which, BROWSERS)), None)) is None:
        sys.exit("there is no Chromium on the path; install the package chromium of your system")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        draw(topics_of_the_readme(folder), STATIC)
        launched = driver.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        for path in take(launched, Path(folder, PAGE), STATIC):
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")
    return None


def topics_of_the_readme(folder):
    """Names that the README's code assigns; it writes its page into the folder."""
    names = {}
    with chdir(folder), redirect_stdout(io.StringIO()):
        exec(code_of((ROOT / "README.md").read_text(encoding="utf-8")), names)
    return names


def draw(names, folder):
    """Write front.png: words of four topics as bars, and a photograph as the regions of a mixture of its pixels.

    Its background is white in both modes of a page.
    """
    import matplotlib.pyplot as plt
    from PIL import Image

    lda, words = names["lda"], names["docs"].feature_names
    figure = plt.figure(figsize=(9.2, 3.1), layout="constrained", facecolor="white")
    bars, pictures = figure.subfigures(1, 2, width_ratios=(5, 3))
    bars.suptitle("four topics of docstrings", fontsize=11)
    found = lda.topic_table(words, n_top_words=5).set_index("topic")["words"]
    for axis, word, colour in zip(bars.subplots(2, 2).flat, SHOWN, COLOURS, strict=True):
        k = next(k for k, row in found.items() if word in row)
        share = {one: lda.topic_word_distribution_[k, list(words).index(one)] for one in found[k]}
        order = sorted(share, key=share.get)
        axis.barh(order, [share[one] for one in order], color=colour)
        axis.set_xticks([])
        axis.spines[:].set_visible(False)
        axis.tick_params(length=0, labelsize=10)
    pictures.suptitle("a photograph, and 40 clusters of its pixels", fontsize=11)
    for axis, image in zip(pictures.subplots(2, 1).flat, photograph_and_regions(), strict=True):
        axis.imshow(image)
        axis.set_axis_off()
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=160)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(255).save(folder / "front.png", optimize=True)


def photograph_and_regions():
    """A photograph, and each pixel in the mean colour of its cluster: colours and places are five columns."""
    import numpy as np
    from sklearn.datasets import load_sample_image

    from sparsemix import SparseGaussianMixture

    photo = load_sample_image("flower.jpg")[::2, ::2] / 255
    places = np.indices(photo.shape[:2]).reshape(2, -1).T / photo.shape[0]
    pixels = np.column_stack([photo.reshape(-1, 3), places])
    regions = SparseGaussianMixture(40, tol=1e-2, random_state=0).fit(pixels)
    return photo, np.clip(regions.means_[regions.predict(pixels), :3], 0, 1).reshape(photo.shape)


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
