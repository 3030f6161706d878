"""Normalized generalized gamma process prior: mode of log U, weight of a new cluster."""

from libc.math cimport isfinite


cdef sparsemix_nggp checked(double a, double sigma, double tau, double theta) except *:
    cdef sparsemix_nggp prior = sparsemix_nggp(a, sigma, tau, theta)
    if not (a > 0.0 and isfinite(a) and 0.0 <= sigma < 1.0 and tau >= 0.0 and isfinite(tau) and sigma + tau > 0.0):
        raise ValueError("need a > 0, 0 <= sigma < 1, tau >= 0, and tau > 0 where sigma = 0")
    if not (theta == 0.0 or 0.0 < theta and isfinite(theta) and tau == 0.0):
        raise ValueError("theta must not be negative, and 0 where tau > 0")
    return prior


def log_mode(
    const double[::1] n,           # IN  (m,) rows, or their mass
    const double[::1] expected_k,  # IN  (m,) clusters, or how many are expected
    double a,                      # IN
    double sigma,                  # IN
    double tau,                    # IN
    double theta,                  # IN  of Pitman and Yor's process; positive only if tau = 0
    double[::1] out,               # OUT (m,) where a (u + tau)^sigma = sigma K + n tau / u; log u
):
    """Mode of the density of log U."""
    cdef sparsemix_nggp prior = checked(a, sigma, tau, theta)
    cdef Py_ssize_t i
    if not n.shape[0] == expected_k.shape[0] == out.shape[0]:
        raise ValueError("n, expected_k and out must be of one length")
    with nogil:
        for i in range(n.shape[0]):
            out[i] = sparsemix_nggp_log_mode(n[i], expected_k[i], &prior)


def log_new(
    const double[::1] n,           # IN  (m,)
    const double[::1] expected_k,  # IN  (m,)
    double a,                      # IN
    double sigma,                  # IN
    double tau,                    # IN
    double theta,                  # IN
    bint quadrature,               # IN  in expectation over U, not at its mode
    double[::1] log_u,             # OUT (m,) the mode
    double[::1] out,               # OUT (m,)
):
    """Log weight of a new cluster, relative to weights n_k - sigma of existing clusters."""
    cdef sparsemix_nggp prior = checked(a, sigma, tau, theta)
    cdef Py_ssize_t i
    if not n.shape[0] == expected_k.shape[0] == log_u.shape[0] == out.shape[0]:
        raise ValueError("n, expected_k, log_u and out must be of one length")
    with nogil:
        for i in range(n.shape[0]):
            out[i] = sparsemix_nggp_log_new(n[i], expected_k[i], &prior, quadrature, &log_u[i])
