"""Column labels of data frames: blocks must agree on them, and messages name columns by them."""

from sparsemix._estimator.input.forms import columns_of, is_frame


def labels_of(X):
    """Column labels of a data frame; None for other data, and for labels that only number the columns."""
    if not is_frame(X):
        return None
    labels = [label.item() if hasattr(label, "item") else label for label, _ in columns_of(X)]
    return None if labels == list(range(len(labels))) else labels


def check_labels(labels, first):
    """Raise unless a block has the labels of the first block."""
    if labels == first:
        return
    if first is None:
        raise ValueError("its columns have names, and those of the first block do not; give all blocks in one form")
    if labels is None:
        raise ValueError("its columns have no names, but those of the first block do; give all blocks in one form")
    if len(labels) != len(first) or set(labels) != set(first):
        lacks, more = sorted(set(first) - set(labels), key=str), sorted(set(labels) - set(first), key=str)
        names = "; ".join(
            f"{what} {', '.join(map(repr, some[:3]))}{' and more' if len(some) > 3 else ''}"
            for what, some in (("it lacks", lacks), ("only it has", more)) if some
        )  # fmt: skip
        raise ValueError(
            f"its {len(labels)} columns have other names than the {len(first)} of the first block "
            f"({names or 'some names occur twice'}); give all blocks the same columns"
        )
    at = next(i for i, (own, other) in enumerate(zip(labels, first, strict=True)) if own != other)
    raise ValueError(
        f"its columns are in another order than in the first block: column {at} is {labels[at]!r}, not {first[at]!r}; "
        "reorder them, frame[list(first.columns)]"
    )


def column_name(estimator, column):
    """A column in messages: its name, if the fit reads a data frame, else its number. Parameters know the names too."""
    names = getattr(estimator, "feature_names_in_", None)
    return str(column) if names is None else repr(str(names[column]))
