"""Pages of classes begin with what every user needs: the example, and the parameters and methods of one list.

Other parameters are in numpydoc's section "Other Parameters", which _templates/numpydoc_docstring.rst folds. Methods
follow in the order of ``METHODS``; _templates/class.rst lists the rest after them.
"""

import inspect

PARAMETERS = {
    "n_components", "n_nonzero", "covariance_type", "likelihood", "concentration", "word_prior", "window", "max_iter",
    "tol", "n_jobs", "verbose", "random_state", "n_chains",
}  # fmt: skip
METHODS = [
    "fit", "fit_predict", "fit_transform", "predict", "predict_proba", "predict_sparse_proba", "predict_interval",
    "transform", "score", "score_samples", "partial_fit", "print_topics", "topic_table", "summary", "sample",
]  # fmt: skip
# Classes with fewer parameters show them all.
MOST = 9


def is_rule(line):
    """Whether a line underlines the title of a section."""
    return len(line) > 2 and set(line) == {"-"}


def fold_parameters(app, what, name, obj, options, lines):  # noqa: ARG001 - the signature is Sphinx's
    """Move the rare parameters of a class into a section for them, unless its docstring has one."""
    if what != "class" or "Parameters" not in lines or "Other Parameters" in lines:
        return
    start = lines.index("Parameters")
    titles = [i - 1 for i, line in enumerate(lines) if is_rule(line) and i > start + 1]
    end = min(titles, default=len(lines))
    entries = []
    for line in lines[start + 2 : end]:
        if line[:1].strip():
            entries.append([])
        if entries:
            entries[-1].append(line)
    rare = [entry for entry in entries if entry[0].split(" :")[0] not in PARAMETERS]
    if len(entries) <= MOST or not rare:
        return
    common = [entry for entry in entries if entry not in rare]
    lines[start + 2 : end] = [line for entry in common for line in entry] + [
        "", "Other Parameters", "----------------", *(line for entry in rare for line in entry), "",
    ]  # fmt: skip


def shorten_signature(app, what, name, obj, options, signature, returned):  # noqa: ARG001 - the signature is Sphinx's
    """Everyday parameters of a class, and an ellipsis for the rest."""
    if what != "class" or signature is None:
        return None
    parameters = inspect.signature(obj).parameters
    shown = [f"{one.name}={one.default!r}" for one in parameters.values() if one.name in PARAMETERS]
    if len(parameters) <= MOST or len(shown) == len(parameters):
        return None
    return f"({', '.join([*shown, '...'])})", returned


def setup(app):
    """Register the events, before numpydoc reads the docstring."""
    app.connect("autodoc-process-docstring", fold_parameters, priority=100)
    app.connect("autodoc-process-signature", shorten_signature, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
