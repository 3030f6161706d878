"""Normalized generalized gamma process prior, for sweeps that evaluate it once per row."""

cdef extern from "clusters/nggp.h" nogil:
    ctypedef struct sparsemix_nggp:
        double a
        double sigma
        double tau
        double theta

    double sparsemix_nggp_log_mode(double n, double expected_k, const sparsemix_nggp* prior)
    double sparsemix_nggp_log_new(double n, double expected_k, const sparsemix_nggp* prior, int quadrature,
                                  double* log_u)
