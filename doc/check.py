"""Checks a built site: every internal link leads somewhere, and nothing of a page is cut at the edge.

python doc/check.py doc/_build/html

Widths are measured by a Chromium on the path, at 1280 and 390 pixels, in light mode; without one only links are
checked. The pages are served on this machine, and one page opens each of them in frames and sends back what it
measures. A page that is wider than its window is a fault, and so is an element that is wider than what scrolls or
hides it: a reader sees a part of such a table and does not know it. At 390 pixels code and displayed formulas may
scroll, as their lines lose their meaning when they break; tables may not.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

WIDTHS = (1280, 390)
TIMEOUT = 600
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# What may scroll in a narrow window, and the width below which a window is narrow.
SCROLLS, NARROW = "pre, div.math", 600
# Elements that end to the right of the window, unless something around them scrolls or hides what is beyond its edge;
# then elements that scroll or hide a part of what they contain. What is hidden but for screen readers has no width.
MEASURE = """
<!doctype html><body><script>
const [pages, widths, scrolls, narrow] = %s, found = [];
const words = element => element.textContent.trim().split(/\\s+/).join(" ").slice(0, 40);
const name = element => element.tagName.toLowerCase() + " " + words(element);
function cut(frame) {
  const doc = frame.contentDocument, limit = doc.documentElement.clientWidth + 1, names = [];
  if (doc.documentElement.scrollWidth <= limit) return names;
  for (const element of doc.querySelectorAll("article *")) {
    if (element.getBoundingClientRect().right <= limit) continue;
    let around = element.parentElement;
    const style = of => frame.contentWindow.getComputedStyle(of);
    while (around && style(around).overflowX === "visible") around = around.parentElement;
    if (!around || around === doc.body || around === doc.documentElement)
      names.push(name(element));
  }
  return names.length ? names.slice(-3) : ["the page"];
}
function hidden(frame, width) {
  const names = [];
  for (const element of frame.contentDocument.querySelectorAll("article, article *")) {
    if (element.clientWidth < 2 || element.scrollWidth <= element.clientWidth + 1) continue;
    if (frame.contentWindow.getComputedStyle(element).overflowX === "visible") continue;
    if (width < narrow && element.matches(scrolls)) continue;
    const kind = element.querySelector("table") ? "table" : "";
    names.push(`${kind} ${name(element)} loses ${element.scrollWidth - element.clientWidth} pixels`.trim());
  }
  return names;
}
async function measure(page, width) {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  frame.src = "/" + page;
  const loaded = new Promise(done => frame.onload = done);
  document.body.append(frame);
  await loaded;
  for (const closed of frame.contentDocument.querySelectorAll("details")) closed.open = true;
  const names = [...cut(frame), ...hidden(frame, width)];
  if (names.length) found.push([page, width, names]);
  frame.remove();
}
(async () => {
  for (const page of pages) for (const width of widths) await measure(page, width);
  await fetch("/", {method: "POST", body: JSON.stringify(found)});
})();
</script>
"""


class Page(HTMLParser):
    """Identifiers and links of a page."""

    def __init__(self, text):
        super().__init__()
        self.identifiers, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """Collect what links can lead to, and links."""
        values = dict(attributes)
        self.identifiers |= {values[name] for name in ("id", "name") if values.get(name)}
        self.links += [values[name] for name in ("href", "src") if values.get(name)]
        if tag == "use" and values.get("xlink:href"):
            self.links.append(values["xlink:href"])


def broken_links(root):
    """Internal links of all pages that lead nowhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.html"))}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].identifiers if target in pages else None
            lost = parts.fragment and anchors is not None and unquote(parts.fragment) not in anchors
            if not target.exists() or lost:
                yield f"{path.relative_to(root)}: {link} leads nowhere"


class Handler(SimpleHTTPRequestHandler):
    """Serves the site, and the page that measures."""

    def do_GET(self):
        """The measuring page at /measure, files elsewhere."""
        if self.path != "/measure":
            super().do_GET()
            return
        body = (MEASURE % json.dumps(self.server.asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        """What was measured."""
        self.server.found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.server.done.set()

    def log_message(self, *arguments):
        """Print nothing."""


def wide_pages(root, browser):
    """Pages of which a window cuts something, with the elements that are cut."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(root)))
    pages = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*.html"))]
    server.asked = [pages, WIDTHS, SCROLLS, NARROW]
    server.done, server.found = threading.Event(), None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
                   "--disable-background-networking", f"--user-data-dir={profile}", "--window-size=1400,1000",
                   "--remote-debugging-port=0", f"http://127.0.0.1:{server.server_port}/measure"]  # fmt: skip
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server.done.wait(TIMEOUT)
        running.terminate()
        running.wait()
    server.shutdown()
    if server.found is None:
        sys.exit(f"{browser} measured nothing in {TIMEOUT} seconds")
    for page, width, names in server.found:
        yield f"{page} at {width} pixels: {'; '.join(names)}"


def main():
    """Print what is wrong; the exit status says whether something is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="folder of the built site")
    root = parser.parse_args().root.resolve()
    wrong = list(broken_links(root))
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    wrong += wide_pages(root, browser) if browser else []
    unchecked = "" if browser else "; there is no Chromium, so widths are unchecked"
    print("\n".join([*wrong, f"{len(list(root.rglob('*.html')))} pages, {len(wrong)} faults{unchecked}"]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
