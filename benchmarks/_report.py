"""Records as aligned tables, JSON lines and a picture."""

import json
import sys


def print_table(title, header, rows, n_left=1, notes=()):
    """Columns as wide as their widest cell; the first ``n_left`` are words, the others numbers."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    print(f"\n{title}")
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [
            cell.ljust(width) if column < n_left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  " + "  ".join(cells).rstrip())
    for note in notes:
        print(f"  {note}")
    sys.stdout.flush()


def print_rst_table(title, header, rows, notes=()):
    """A simple table of reStructuredText, to be pasted into the documentation; no first cell may be empty."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    rule = ["=" * width for width in widths]
    print(f"\n**{title}**\n")
    for row in [rule, header, rule, *rows, rule]:
        print(" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for note in notes:
        print(f"\n{note}")
    sys.stdout.flush()


def number(value, form=".3f", mark=""):
    """A formatted number; a dash when there is none."""
    return "-" if value is None else f"{mark}{value:{form}}"


def write_line(path, record):
    """Append one record."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def seconds_until(checkpoints, score):
    """Seconds of the first checkpoint that is as good; None if there is none."""
    return next((seconds for _, seconds, value, *_ in checkpoints if value >= score), None)


def plot_learning(records, path):
    """Held-out score against seconds, one panel for each K."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    sizes = sorted({record["n_components"] for record in records})
    figure, panels = plt.subplots(1, len(sizes), figsize=(6 * len(sizes), 4.5), squeeze=False, layout="constrained")
    for n_components, panel in zip(sizes, panels[0], strict=True):
        for record in records:
            if record["n_components"] != n_components or not any(row[0] for row in record["checkpoints"]):
                continue
            _, seconds, scores = zip(*record["checkpoints"], strict=True)
            panel.plot(seconds, scores, marker="o", markersize=3, label=record["label"])
        panel.set(title=f"K = {n_components}", xlabel="seconds of training", xscale="log")
    panels[0][0].set_ylabel("held-out log-likelihood of a patch, nats")
    panels[0][0].legend()
    figure.savefig(path, dpi=100)
    print(f"\n{path}: held-out score against seconds of training")


def plot_topics(records, path):
    """Held-out score and coherence against seconds: a row of two panels for each K."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    sizes = sorted({record["n_components"] for record in records})
    figure, panels = plt.subplots(len(sizes), 2, figsize=(12, 4.5 * len(sizes)), squeeze=False, layout="constrained")
    for n_components, row in zip(sizes, panels, strict=True):
        for record in records:
            if record["n_components"] != n_components or not record["checkpoints"]:
                continue
            _, seconds, *columns = zip(*record["checkpoints"], strict=True)
            for panel, values in zip(row, columns, strict=True):
                panel.plot(seconds, values, marker="o", markersize=3, label=record["label"])
        for panel, name in zip(row, ("held-out log-likelihood of a token, nats", "NPMI"), strict=True):
            panel.set(title=f"K = {n_components}", xlabel="seconds of training", ylabel=name, xscale="log")
    panels[0][0].legend()
    figure.savefig(path, dpi=100)
    print(f"\n{path}: scores against seconds of training")
