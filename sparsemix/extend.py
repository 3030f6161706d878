"""What an application of the package needs beyond estimators: input checks, shares of documents, files, interrupts.

An application knows words, documents and files. ``sparsemix.texts`` and ``sparsemix.plotting`` are applications: they
import public names only, these and those of the other packages. Here is a function that lists the documents of a topic
model that belong to no topic in particular, for any estimator with ``components_`` and ``transform``:

>>> import numpy as np
>>> from sparsemix.extend import check_number, plain_arguments, read_counts, read_topics, shares_of
>>> @plain_arguments
... def undecided(model, X, n_documents=3):
...     check_number("n_documents", n_documents)
...     X = read_counts(X, n_words=read_topics(model, "model").shape[1])
...     return np.argsort(shares_of(model, X).max(axis=1), kind="stable")[:n_documents]
>>> from sparsemix import SparseLDA
>>> from sparsemix.datasets import make_bars
>>> X = make_bars(n_samples=200, random_state=0)[0]
>>> undecided(SparseLDA(10, random_state=0).fit(X), X).shape
(3,)

A likelihood of mixtures that is linear in the row, as that of exponential distributions, is a ``LinearFamily`` with
its sums, updates and bound, and a ``Likelihood`` with rows and checks. An estimator that returns its ``LinearRecipe``
from ``_recipe`` and subclasses ``MixtureEstimator`` has ``fit``, ``partial_fit``, fits over blocks and predictions.
``tests/release/test_own_likelihood.py`` is a complete example. Another kind of model needs another ``Recipe``, whose
plans ``fit_rows`` runs. Checkpoints store classes of this package only. These names are for developers: the page of
the architecture documents their methods, and ``__all__`` leaves them out.
"""

from sparsemix._estimator.input.checks import check_counts as check_counts
from sparsemix._estimator.input.checks import check_number, check_rows
from sparsemix._estimator.learning import Plan as Plan
from sparsemix._estimator.learning import Recipe as Recipe
from sparsemix._estimator.learning import fit_rows as fit_rows
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._estimator.progress import SCORES
from sparsemix._estimator.tables import table_of
from sparsemix._estimator.writing import local_path, replacing
from sparsemix._rows.threads import interrupts_wait
from sparsemix._stats.linear._base import LinearFamily as LinearFamily
from sparsemix._stats.linear._base import LinearTable as LinearTable
from sparsemix.metrics._checks import check_has_words, read_counts, read_topics
from sparsemix.metrics._typical import Typical, shares_of
from sparsemix.mixture._estimator import MixtureEstimator as MixtureEstimator
from sparsemix.mixture._linear._rows import SparseDocuments as SparseDocuments
from sparsemix.mixture._linear.likelihoods import Likelihood as Likelihood
from sparsemix.mixture._linear.recipe import LINEAR_CONSTRAINTS as LINEAR_CONSTRAINTS
from sparsemix.mixture._linear.recipe import LinearRecipe as LinearRecipe
from sparsemix.skipgram._input import check_sequences

__all__ = [
    "SCORES",
    "Typical",
    "check_has_words",
    "check_number",
    "check_rows",
    "check_sequences",
    "interrupts_wait",
    "local_path",
    "plain_arguments",
    "read_counts",
    "read_topics",
    "replacing",
    "shares_of",
    "table_of",
]
