"""Records as aligned tables and a picture."""

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


def seconds_until(checkpoints, score):
    """Seconds of the first checkpoint that is as good; None if there is none."""
    return next((seconds for _, seconds, value, *_ in checkpoints if value >= score), None)


def plot_curves(records, path, names):
    """Named scores against seconds: a panel for each K and score; with several scores each K has its own row."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    sizes = sorted({record["n_components"] for record in records})
    shape = (len(sizes), len(names)) if len(names) > 1 else (1, len(sizes))
    figure, panels = plt.subplots(
        *shape, figsize=(6 * shape[1], 4.5 * shape[0]), squeeze=False, layout="constrained"
    )  # fmt: skip
    for n_components, row in zip(sizes, panels.reshape(len(sizes), len(names)), strict=True):
        for record in records:
            if record["n_components"] != n_components or not any(point[0] for point in record["checkpoints"]):
                continue
            _, seconds, *scores = zip(*record["checkpoints"], strict=True)
            for panel, values in zip(row, scores, strict=True):
                panel.plot(seconds, values, marker="o", markersize=3, label=record["label"])
        for panel, name in zip(row, names, strict=True):
            panel.set(title=f"K = {n_components}", xlabel="seconds of training", ylabel=name, xscale="log")
    panels[0][0].legend()
    figure.savefig(path, dpi=100)
    print(f"\n{path}: {', '.join(names)} against seconds of training")
