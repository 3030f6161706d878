"""Tables and sums of rows by what is observed of them: the one place where models tell kinds of rows apart."""

from sparsemix._models.mixture import annotated, missing, noisy
from sparsemix._rows.observation import MISSING, NOISY

# What makes the table of rows of a kind from the likelihood and the table of complete rows.
TABLES = {MISSING: missing.IncompleteTable, NOISY: noisy.NoisyTable}


def table_of(value, likelihood, table):
    """The table of rows of a kind of values."""
    return TABLES[value](likelihood, table) if value in TABLES else table


def with_labels(observation, table, owners, n_features):
    """The table that keeps labelled rows to the components of their labels."""
    if not observation.labelled:
        return table
    return annotated.AnnotatedTable(table, owners, n_features + observation.noise)


def without_labels(observation, x, n_columns):
    """The first columns of rows, and labels, or None if no label is known."""
    return annotated.split(x, n_columns) if observation.labelled else (x, None)


def has_latent_values(observation, x):
    """Whether the sums of a chunk are those of completed rows."""
    return observation.value == NOISY or (observation.value == MISSING and missing.is_missing(x) is not None)
