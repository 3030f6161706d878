"""Compiled loops. One call processes one block of rows, without Python objects, threads or per-row allocation.

::

    tile of rows x                                                chunk of rows x
         |                                                              |
    _quadratic.log_density    constants[k] - 0.5 |R_k x - o_k|^2   _accumulate.group_by_component
         |      add_projections   + 0.5 |L_k x - p_k|^2                 |  rows by component
         |  weights (rows, K)                                           |
    _topl.top_l_responsibilities                                   _accumulate.add_*  -> statistics, in double
         |                                                              |
      indices, values (rows, L)  --------------------------------->  (posterior = prior + statistics)
                                                                        |
    factors R_k, offsets o_k  <------------- _factor.whiten ------- K symmetric matrices
                                                                        |
                                             _scales.scales_of ---  scales of their priors

    few rows             _few.FewGaussians.climb and split: all of these steps in one call

    rows with NaN        _missing.observed_diagonal, observed_matrix (weights of the observed values)  -> _topl
                         _missing.fill, complete (rows completed under a component)  -> _accumulate.add_*
                         _missing.expect (missing values given responsibilities, or draws of them)
                         _missing.moments (means and variances of the last columns under each component)
    rows with noise      _noisy.log_density (weights, noise included)  -> _topl
                         _noisy.denoise (rows without their noise, under a component)  -> _accumulate.add_*

    words of a chunk                                              chunk of documents
         |                                                              |
    _special.exp_log_word    exp E[log phi], L best topics a word  _docstep.local_step  -> topics, values (nnz, L)
         |  table (V, K) or PackedTable, lists (V, L)                   |
         +------------------------------------------------------->  _words.group_by_word, sum_sparse or sum_dense
                                                                        |
                                                                   rows of word_topic -> statistics

    tables of an age class                                        tile of documents, recalled counts, chains
         |                                                              |
    _mhw.WordTables    alias tables of words' topics               _mhw.sample_documents  -> topics, values (nnz, S)
         |  proposals, frozen                                           |
         +------------------------------------------------------->  _words.group_by_word, sum_sparse

    tile of documents    _scvb.local_step (all topics of a word)  -> resp (nnz, K), summed by
                         _words.sum_rows into rows of the current words

    words of a chunk, then tiles of documents    _split.sum_blocks (the fixed part of a word's conditional),
                         _split.local_step -> records (nnz, 3), summed by _split.sum_rows

    documents in order   _cvb.sweep (responsibilities), _gibbs.sweep (topics of tokens): update word_topic and totals
                         in place after each; add_up recomputes them from the responsibilities or topics

    words in order, in tiles    _positions.positions (all topics of a position) or _walk.walk (chains)
                         -> topics (n_tokens, M), summed by word and, by _positions.pairs, by context word
    words in order       _positions.sweep, _walk.sweep: update counts after each position; add_up recomputes them

    rows in order        _nggp.log_new  (weight of a new cluster, from the prior)
                         _gaussian_clusters.GaussianClusters, _multinomial.MultinomialClusters  (densities in clusters,
                         updated row by row by a sweep of _sequential)

    rows                 _ward.merge (all merges of Ward's tree), _ward.number (their nodes)
    few rows             _compact.plus_plus and lloyd (k-means), nearest_rows (neighbours)

Symmetric and triangular D x D matrices are always packed: lower triangles, row by row, D (D + 1) / 2 numbers.
Rows and tables are float or double, sums over rows are double, counts by word and topic have the dtype of the table.
Callers allocate; outputs come last. ``_memoryviews``, which Cython writes, has the memoryviews of all kernels.
"""

from importlib.util import find_spec

if find_spec("sparsemix._kernels.vectors._simd") is None:
    raise ImportError(
        f"{__path__[0]} holds sources without compiled kernels, and Python finds them before any installed sparsemix: "
        "run Python in another folder, or compile them with 'make demo' or 'pip install -e .', which need a C compiler"
    )
