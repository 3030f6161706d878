"""Topics of positions by Metropolis-Hastings-Walker chains, with proposals from a context word ([IF19] Eq. 10).

The loops are in walk.h and walk_loops.h; the tables are those of ``_mhw.WordTables`` with a prior of one.
"""

import numpy as np

from libc.math cimport exp
from libc.stdint cimport int64_t, uint64_t

from sparsemix._kernels.collapsed._mhw cimport _Views, sparsemix_word_tables
from sparsemix._kernels.skipgram._positions cimport Context, Positions, Priors, sparsemix_context

ctypedef fused real:
    float
    double


cdef extern from "skipgram/walk.h" nogil:
    ctypedef struct sparsemix_walk_settings:
        Py_ssize_t n_components
        int window, n_samples, parts, part
        double inverse_temperature, scale, base, total_prior
        uint64_t seed
        int64_t visit
        const double* factors
        const double* alpha
        double* totals
    double sparsemix_log_acceptance(double, double, double, double, double)
    int64_t sparsemix_walk(
        const sparsemix_walk_settings*, const sparsemix_word_tables*, Py_ssize_t, const int64_t*, const int*,
        const int*, const int64_t*, void*, void*, sparsemix_context*, int, int*, int*, int64_t*, int*)


def acceptance(log_target_new, log_target_old, density_new, density_old, temperature=1.0):
    """Acceptance probability of a move from old to new: log target before tempering, density of the proposal."""
    log_a = sparsemix_log_acceptance(log_target_new, log_target_old, density_new, density_old, 1.0 / temperature)
    return 1.0 if log_a >= 0.0 else exp(log_a)


def walk(
    Positions block not None,          # IN
    const int64_t[::1] numbers,        # IN    (n,) global row numbers, which key the random numbers
    tables,                            # IN    WordTables that have all the words
    Priors priors not None,            # IN
    double temperature,                # IN    of the target
    uint64_t seed,                     # IN
    int64_t visit,                     # IN    of these documents, keys the random numbers
    int n_samples,                     # IN    S proposals of a position
    const real[:, ::1] input_table,    # IN    (V, K) positions by input word
    const real[:, ::1] table,          # IN    (V, K) G
    const double[::1] totals,          # IN    (K,) N_k
    int[::1] topics,                   # INOUT (n_tokens,) states of the chains, -1: the first proposal is taken
    int[:, ::1] states,                # OUT   (n_tokens, S) states after each proposal; or None
    int64_t[::1] tally,                # INOUT (3,) += proposals, accepted
    int[::1] sizes=None,               # OUT   (n_tokens,) words of the context; or None
):
    """Chains of all positions of some documents under fixed counts."""
    cdef sparsemix_walk_settings s
    s.seed, s.visit, s.n_samples, s.parts, s.part = seed, visit, n_samples, 1, 0
    run[real](block, numbers, tables, priors, temperature, s, input_table, table, totals, False, topics, states, tally,
              sizes)


def sweep(
    Positions block not None,          # IN
    const int64_t[::1] numbers,        # IN    (n,) row numbers
    tables,                            # IN    WordTables that have all the words
    Priors priors not None,            # IN    without factors, of whole counts
    double temperature,                # IN    of the target
    uint64_t seed,                     # IN
    int64_t number,                    # IN    of the sweep
    int n_samples,                     # IN    S proposals of a position
    real[:, ::1] input_table,          # INOUT (V, K) positions by input word and topic
    real[:, ::1] table,                # INOUT (V, K) context words by word and topic
    double[::1] totals,                # INOUT (K,) sums of the latter
    int[::1] topics,                   # INOUT (n_tokens,) of each position, -1 has none yet
    int64_t[::1] tally,                # INOUT (3,) += proposals, accepted, positions that changed their topic
    int parts=1,                       # IN    parts; positions of a document belong to them in turn
    int part=0,                        # IN    the part whose positions move
):
    """One step of the chains of one part's positions, in order; counts are updated after each.

    The posterior is invariant if the tables depend on no topic of this part.
    """
    cdef sparsemix_walk_settings s
    if not 0 <= part < parts:
        raise ValueError(f"part must be from 0 to {parts - 1}")
    s.seed, s.visit, s.n_samples, s.parts, s.part = seed, number, n_samples, parts, part
    run[real](block, numbers, tables, priors, temperature, s, input_table, table, totals, True, topics, None, tally,
              None)


cdef run(
    Positions block, const int64_t[::1] numbers, tables, Priors priors, double temperature, sparsemix_walk_settings s,
    const real[:, ::1] input_table, const real[:, ::1] table, const double[::1] totals, bint follow, int[::1] topics,
    int[:, ::1] states, int64_t[::1] tally, int[::1] sizes,
):
    """Shared by ``walk`` and ``sweep``: counts are written only if they ``follow``."""
    cdef Py_ssize_t n_words = table.shape[0], n_components = table.shape[1]
    cdef int64_t status
    block.check(n_words)
    if numbers.shape[0] != block.n:
        raise ValueError("numbers must be (n,)")
    if s.n_samples < 1 or not temperature > 0.0:
        raise ValueError("n_samples must be at least 1, and temperature positive")
    if priors.factors is not None and priors.factors.shape[0] != n_words:
        raise ValueError(f"factors must be ({n_words},)")
    if input_table.shape[0] != n_words or input_table.shape[1] != n_components:
        raise ValueError("both tables must be of one shape")
    if priors.alpha.shape[0] != n_components or totals.shape[0] != n_components or tally.shape[0] != 3:
        raise ValueError(f"alpha and totals must be ({n_components},) and tally (3,)")
    if topics.shape[0] != block.n_tokens or (topics.shape[0] and np.max(topics) >= n_components):
        raise ValueError(f"topics must be one for each token, below {n_components}")
    if states is not None and (states.shape[0] != block.n_tokens or states.shape[1] != s.n_samples):
        raise ValueError("states must be (n_tokens, S)")
    if sizes is not None and sizes.shape[0] != block.n_tokens:
        raise ValueError("sizes must be (n_tokens,)")
    if tables.n_components != n_components or tables.n_words != n_words or tables.dtype.itemsize != sizeof(real):
        raise ValueError("tables must be of the table's shape and dtype")
    if block.n_tokens == 0:
        return
    cdef Context context = Context(block.window)
    s.n_components, s.window, s.inverse_temperature = n_components, block.window, 1.0 / temperature
    s.scale, s.base, s.total_prior = priors.scale, priors.base, n_words * priors.beta
    s.alpha, s.totals, s.factors = &priors.alpha[0], <double*> &totals[0], NULL
    if priors.factors is not None:
        s.factors = &priors.factors[0]
    cdef int* state_start = NULL if states is None else &states[0, 0]
    cdef int* size_start = NULL if sizes is None else &sizes[0]
    cdef _Views views = _Views(tables)
    with nogil:
        status = sparsemix_walk(
            &s, &views.c, block.n, &block.indptr[0], &block.places[0], &block.words[0], &numbers[0],
            <real*> &input_table[0, 0], <real*> &table[0, 0], &context.c, follow, &topics[0],
            state_start, &tally[0], size_start)
    if status < 0:
        raise ValueError("a word has no table; build the tables of all words of the documents")
