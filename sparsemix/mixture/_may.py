"""Which kinds of rows and models go together, and what a fit may do with each: the only place that says so.

Kinds are "missing values", "noise" and "labels" of rows; "labelled components", "background", "low_rank", "tied" and
"few components" of models; and what the caller gives: "new background", "candidates" (lists of a given length), and
"values" of ``init_params``.
"""

from sparsemix._heuristics.mixture.policy import few_components

# What a fit or a stream may do, and the kinds that forbid it.
FORBIDDEN = {
    # A search reads values without noise, and finds components whatever the label.
    "lists": ("noise", "labels"),
    # Births compare components by the sums of complete rows at hand: those of latent values or factors depend on the
    # component that a row leaves, and a new component would have no label and take rows of the background.
    "births": ("missing values", "noise", "labels", "labelled components", "background", "low_rank"),
    # The initialisation of a fit has seen all rows, and of few components it has exchanged them as births would. Under
    # one covariance births gain nothing after the default initialisation, and after a bad one they can leave it
    # without an inverse. The first block of a stream has not seen what comes later.
    "births in a fit": (
        "missing values", "noise", "labels", "labelled components", "background", "low_rank", "tied", "few components",
    ),
}  # fmt: skip

# Pairs that are refused, by the message. All others may be used together.
REFUSED = {
    ("noise", "new background"): "background cannot be used with noise_variance; leave one of them out",
    ("noise", "background"): (
        "noise_variance cannot be used after a fit with background; leave it out, or fit without"
    ),
    ("noise", "low_rank"): (
        "noise_variance cannot be used with covariance_type='low_rank', which has noise variances of its "
        "components; choose another covariance_type, such as 'full'"
    ),
    ("noise", "candidates"): "candidates={candidates} limits the components of a row, so noise_variance cannot be used "
    "with it; set candidates='auto'",
    ("labels", "candidates"): "candidates={candidates} limits the components of a row, so labels cannot be used with "
    "it; set candidates='auto'",
    ("labels", "values"): (
        "labels determine which rows each component starts from; with labels, give init_params a name instead of values"
    ),
}


def kinds_of(rows=None, model=None):
    """Kinds of rows and of a model."""
    found = {}
    if rows is not None:
        seen = rows.observation
        found |= {"missing values": seen.missing, "noise": seen.noise, "labels": seen.labelled}
    if model is not None:
        family = model.family
        found |= {
            "labelled components": model.owners is not None, "background": model.background is not None,
            "low_rank": family.has_loadings, "tied": family.tied,
            "few components": few_components(model.n_components),
        }  # fmt: skip
    return {kind for kind, present in found.items() if present}


def may(deed, rows=None, model=None):
    """Whether a fit or a stream may do something with rows and a model."""
    return kinds_of(rows, model).isdisjoint(FORBIDDEN[deed])


def refuse_pairs(kinds, candidates=None):
    """Raise for kinds that cannot be used together; ``candidates`` go into the message."""
    for pair, message in REFUSED.items():
        if kinds.issuperset(pair):
            raise ValueError(message.format(candidates=candidates))
