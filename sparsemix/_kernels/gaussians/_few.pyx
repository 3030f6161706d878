"""Steps of few Gaussians on few rows: climbs of all components, and splits of each, in one call.

The formulas are those of the families "full", "tied", "diag" and "spherical" under a variational mixture
(``_stats/families``), whose own steps are the twin of these. There, a step of a small table takes a hundred times as
long as its arithmetic.

Second moments have a line for each component, or, tied, one line for all rows, which no step changes.
"""

import numpy as np

from libc.math cimport INFINITY, NAN, isfinite, log, sqrt

from sparsemix._kernels.gaussians._factor cimport whiten_one
from sparsemix._kernels.gaussians._quadratic cimport PACKED_ROWS, densities
from sparsemix._kernels.gaussians._scales cimport WORK, best_scale, tridiagonal
from sparsemix._kernels.vectors._topl cimport ROW_OK, softmax, top_l

from sparsemix._kernels.gaussians import _quadratic
from sparsemix._kernels.vectors._simd import aligned_empty


cdef extern from "vectors/special.h" nogil:
    double sparsemix_log_gamma(double)
    double sparsemix_digamma(double)


cdef double LOG_2 = log(2.0), LOG_PI = log(3.141592653589793)
# Smaller responsibilities do not change a sum that contains a whole row.
cdef double NEGLIGIBLE = 2.0 ** -53
# Largest factor of a prior, so that sums stay finite.
cdef double LARGEST_SCALE = 1e150

cdef enum:
    TILE = 256  # rows whose weights are in memory at once


cdef class FewGaussians:
    """Conjugate updates of Gaussians, full, tied, diagonal or spherical, under the prior that they share.

    Parameters
    ----------
    triangular : bool
        Whether covariances are full: lower triangles, row by row; else variances, of each column or of all.
    tied : bool
        Whether all components share one full covariance.
    mean : ndarray of shape (D,)
    mean_precision, dof : float
    scale : ndarray of shape (D (D + 1) / 2,), (D,) or (1,)
        B0.
    whitening : ndarray of shape (D, D) or None
        Lower triangular W with W B0 W^T = 1, for full covariances.
    floor : ndarray of shape (D,)
        Variances of noise around each row.
    usual_scale : float
        See VariationalMixture; zero for scales that are not learned, as those of one variance.
    concentration : float
        Of the Dirichlet prior of the weights; infinite for equal weights.
    log_normalizer : float
        Of the prior; tied, that of its Wishart distribution alone.
    """

    cdef bint triangular, tied
    cdef int d, shape, shared  # columns that share a variance
    cdef Py_ssize_t size
    cdef double kappa, dof, usual, concentration, log_normalizer
    cdef const double[::1] mean, scale, floor  # of models that may be read-only memory maps
    cdef const double[:, ::1] whitening
    cdef double[::1] posterior, covariance, means, work
    cdef double[:, ::1] square, rows
    # of the halves of a component, and of the whole
    cdef double[::1] counts, constants, evidences
    cdef double[:, ::1] firsts, seconds, factors, offsets

    def __init__(self, triangular, tied, mean, mean_precision, dof, scale, whitening, floor, usual_scale, concentration,
                 log_normalizer):
        self.triangular, self.tied, self.d, self.size = triangular, tied, len(mean), len(scale)
        self.shared = self.d if self.size < self.d else 1
        self.shape = _quadratic.DIAGONAL if self.shared == 1 else _quadratic.SPHERICAL
        self.shape = _quadratic.TRIANGULAR if triangular else self.shape
        self.kappa, self.dof, self.usual, self.concentration = mean_precision, dof, usual_scale, concentration
        self.log_normalizer = log_normalizer
        self.mean, self.scale, self.floor, self.whitening = mean, scale, floor, whitening
        if self.size != (self.d * (self.d + 1) // 2 if triangular else self.d // self.shared) or len(floor) != self.d:
            raise ValueError("scale and floor must fit the mean")
        if triangular and (whitening.shape[0] != self.d or whitening.shape[1] != self.d):
            raise ValueError("whitening must be (D, D)")
        self.posterior, self.covariance, self.means = np.empty(self.size), np.empty(self.size), np.empty(self.d)
        self.work, self.square, self.rows = np.empty(WORK * self.d), np.empty((self.d, self.d)), np.zeros((4, self.d))
        self.counts, self.constants, self.evidences = np.empty(3), np.empty(3), np.empty(3)
        self.firsts, self.offsets = np.empty((3, self.d)), np.empty((3, self.d))
        self.seconds, self.factors = np.empty((3, self.size)), np.empty((3, self.size))

    cdef double scale_of(self, double dof, Py_ssize_t n_means) noexcept nogil:
        """The scale of the prior of a covariance of some means; ``posterior`` has the prior's scale one."""
        cdef double found, wider
        cdef double* squares = &self.rows[3, 0] if self.triangular else NULL
        cdef int i
        if self.triangular:
            tridiagonal(&self.posterior[0], &self.scale[0], &self.whitening[0, 0], self.d, &self.square[0, 0],
                        &self.rows[0, 0], &self.work[0])
        else:
            for i in range(self.d):
                self.rows[0, i] = self.posterior[i] / self.scale[i] - 1.0
        found = min(LARGEST_SCALE, best_scale(&self.rows[0, 0], squares, self.d, self.dof, dof))
        if found < self.usual:
            wider = self.usual
            if dof > self.dof + n_means:  # enough rows for a limit from above
                wider = best_scale(&self.rows[0, 0], squares, self.d, self.dof, dof * self.dof / (self.dof + n_means))
            found = max(found, min(wider, self.usual))
        return found

    cdef bint learn(self, double count, const double* first, const double* second, double log_share, double* factor,
                    double* offset, double* constant, double* evidence) noexcept nogil:
        """What the log densities of one component need, and its log evidence; False if it has no density."""
        cdef double kappa = self.kappa + count, dof = self.dof + self.shared * count, per_row
        self.set_means(count, first)
        self.update(count, kappa, second)
        if not self.learn_covariance(dof, 1, factor, &per_row, evidence):
            return False
        constant[0] = self.place(kappa, log_share, per_row, factor, offset)
        evidence[0] += 0.5 * self.d * (LOG_2 + LOG_PI - log(kappa)) - self.log_normalizer
        return isfinite(constant[0])

    cdef bint learn_tied(
        self, const double[::1] count, const double[:, ::1] first, const double* scatter, double[:, ::1] factors,
        double[:, ::1] offsets, double[::1] constants, double* evidence
    ) noexcept nogil:
        """The same of components that share a covariance; ``constants`` begin with the log weights."""
        cdef Py_ssize_t n_components = count.shape[0], k, at
        cdef int i, j
        cdef double mass = 0.0, log_kappas = 0.0, per_row, kappa
        for k in range(n_components):
            mass += count[k]
        at = 0
        for i in range(self.d):
            for j in range(i + 1):
                self.posterior[at] = scatter[at] + (self.scale[at]
                                                    + n_components * self.kappa * self.mean[i] * self.mean[j])
                at += 1
            self.posterior[at - 1] += mass * self.floor[i]
        for k in range(n_components):
            kappa = self.kappa + count[k]
            log_kappas += log(kappa) - log(self.kappa)
            self.set_means(count[k], &first[k, 0])
            at = 0
            for i in range(self.d):
                for j in range(i + 1):
                    self.posterior[at] -= kappa * self.means[i] * self.means[j]
                    at += 1
        if not self.learn_covariance(self.dof + mass, n_components, &factors[0, 0], &per_row, evidence):
            return False
        for k in range(n_components):
            if k > 0:
                factors[k] = factors[0]
            self.set_means(count[k], &first[k, 0])
            constants[k] = self.place(self.kappa + count[k], constants[k], per_row, &factors[k, 0], &offsets[k, 0])
            if not isfinite(constants[k]):
                return False
        evidence[0] -= 0.5 * self.d * log_kappas + self.log_normalizer
        return True

    cdef void set_means(self, double count, const double* first) noexcept nogil:
        """The posterior's mean."""
        cdef int i
        for i in range(self.d):
            self.means[i] = (self.kappa * self.mean[i] + first[i]) / (self.kappa + count)

    cdef bint learn_covariance(self, double dof, Py_ssize_t n_means, double* factor, double* per_row,
                               double* evidence) noexcept nogil:
        """Factor of the inverse covariance of ``posterior``, what each row's log density has of it, and its evidence.
        """
        cdef int d = self.d, i, j
        cdef Py_ssize_t at = 0
        cdef double scale = 1.0, share = 0.0, log_det = 0.0, half = 0.0, noise = 0.0
        if self.usual > 0.0:
            scale = self.scale_of(dof, n_means)
            share = 0.5 * d * (self.dof * log(scale) + n_means * log(min(scale / self.usual, 1.0)))
        for at in range(self.size):
            self.posterior[at] += (scale - 1.0) * self.scale[at]
            self.covariance[at] = self.posterior[at] / dof
        if self.triangular:
            if whiten_one(&self.covariance[0], d, &self.square[0, 0], &log_det) != 0:
                return False
            at = 0
            for i in range(d):
                for j in range(i + 1):
                    factor[at] = self.square[i, j]
                    noise += factor[at] * factor[at] * self.floor[j]
                    at += 1
                half += sparsemix_digamma(0.5 * (dof - i))
            half += d * (LOG_2 - log(dof))
        else:
            for at in range(self.size):
                if not self.covariance[at] > 0.0:
                    return False
                factor[at] = 1.0 / sqrt(self.covariance[at])
                log_det += log(self.covariance[at])
            for i in range(d):
                noise += self.floor[i] / self.covariance[i // self.shared]
            half = d * (sparsemix_digamma(0.5 * dof) - log(0.5 * dof))
        if self.tied:
            noise = 0.0  # the same for all components, which their tables leave out
        per_row[0] = 0.5 * (half - self.shared * log_det - d * (LOG_2 + LOG_PI) - noise)
        evidence[0] = self.gammas(dof) - 0.5 * dof * (log_det + d // self.shared * log(dof)) + share
        return True

    cdef double place(self, double kappa, double log_share, double per_row, const double* factor,
                      double* offset) noexcept nogil:
        """The constant of the log density of a component at ``means``, and its offset."""
        cdef int i, j
        for i in range(self.d):
            if self.triangular:
                offset[i] = 0.0
                for j in range(i + 1):
                    offset[i] += factor[j] * self.means[j]
                factor += i + 1
            else:
                offset[i] = self.means[i] if self.shared > 1 else factor[i] * self.means[i]
        return log_share + per_row - 0.5 * self.d / kappa

    cdef void update(self, double count, double kappa, const double* second) noexcept nogil:
        """The posterior's scale, with a prior of scale one and the noise around each row."""
        cdef int d = self.d, i, j
        cdef Py_ssize_t at = 0
        if self.triangular:
            for i in range(d):
                for j in range(i + 1):
                    self.posterior[at] = (second[at] - kappa * self.means[i] * self.means[j]
                                          + (self.scale[at] + self.kappa * self.mean[i] * self.mean[j]))
                    at += 1
                self.posterior[at - 1] += count * self.floor[i]
            return
        for at in range(self.size):
            self.posterior[at] = self.scale[at] + second[at]
        for i in range(d):
            self.posterior[i // self.shared] += self.kappa * self.mean[i] * self.mean[i]
            self.posterior[i // self.shared] -= kappa * self.means[i] * self.means[i]
        for at in range(self.size):
            self.posterior[at] = max(self.posterior[at], self.scale[at])  # but for round-off
        for i in range(d):
            self.posterior[i // self.shared] += count * self.floor[i]

    cdef double gammas(self, double dof) noexcept nogil:
        """Terms of the log normaliser that depend on the degrees of freedom alone."""
        cdef int d = self.d, i
        cdef double out = 0.5 * dof * (d // self.shared) * LOG_2
        if not self.triangular:
            return out + d // self.shared * sparsemix_log_gamma(0.5 * dof)
        for i in range(d):
            out += sparsemix_log_gamma(0.5 * (dof - i))
        return out + 0.25 * d * (d - 1) * LOG_PI

    cdef void add(self, const double* x, double weight, double* count, double* first, double* second) noexcept nogil:
        """Add a row to the sums of a component."""
        cdef int i, j
        cdef double value
        count[0] += weight
        for i in range(self.d):
            first[i] += weight * x[i]
        if self.tied:
            return
        if self.triangular:
            for i in range(self.d):
                value = weight * x[i]
                for j in range(i + 1):
                    second[j] += value * x[j]
                second += i + 1
        elif self.shared > 1:
            for i in range(self.d):
                second[0] += weight * x[i] * x[i]
        else:
            for i in range(self.d):
                second[i] += weight * x[i] * x[i]

    cdef double density(self, const double* x, const double* factor, const double* offset) noexcept nogil:
        """Log density of a row under a component, less its constant."""
        cdef int i, j
        cdef double total = 0.0, one
        if self.triangular:
            for i in range(self.d):
                one = -offset[i]
                for j in range(i + 1):
                    one += factor[j] * x[j]
                factor += i + 1
                total += one * one
        elif self.shared > 1:
            for i in range(self.d):
                one = x[i] - offset[i]
                total += one * one
            total *= factor[0] * factor[0]
        else:
            for i in range(self.d):
                one = factor[i] * x[i] - offset[i]
                total += one * one
        return -0.5 * total

    cdef double log_share(self, double count) noexcept nogil:
        """Expected log weight of a component, less what all components share."""
        return 0.0 if self.concentration == INFINITY else sparsemix_digamma(self.concentration + count)

    cdef double size_term(self, double count) noexcept nogil:
        """Contribution of a component's size to the evidence."""
        if self.concentration == INFINITY:
            return 0.0
        return sparsemix_log_gamma(self.concentration + count) - sparsemix_log_gamma(self.concentration)

    def climb(
        self,
        const double[:, ::1] x,       # IN    (n, D)
        const double[::1] weight,     # IN    (n,)
        Py_ssize_t most,              # IN    steps at most, one at least
        double tol,                   # IN    they end when the mean log density of a row gains less than this
        double[::1] count,            # INOUT (K,) sums of the components, from which the first step starts
        double[:, ::1] first,         # INOUT (K, D)
        double[:, ::1] second,        # INOUT (K, D (D + 1) / 2), (K, D) or (K, 1); tied (1, D (D + 1) / 2)
        int[:, ::1] indices,          # OUT   (n, L) responsibilities of the last step
        double[:, ::1] values,        # OUT   (n, L)
        double[::1] log_z,            # OUT   (n,)
    ):
        """Steps of batch learning; returns their entropy, or NaN where a component or a row has no density."""
        cdef Py_ssize_t n = x.shape[0], row, start, stop, _, n_components = count.shape[0]
        cdef int n_nonzero = indices.shape[1]
        cdef double before = -INFINITY, now, mass = 0.0, entropy = 0.0
        cdef bint known = True
        self.check(x, weight, count, first, second)
        if (indices.shape[0] != n or values.shape[0] != n or values.shape[1] != n_nonzero or log_z.shape[0] != n
                or not 0 < n_nonzero <= n_components or most < 1):
            raise ValueError("indices and values must be (n, L) and log_z (n,), with L <= K, and most at least 1")
        cdef double[:, ::1] factors = np.empty((n_components, self.size)), offsets = np.empty((n_components, self.d))
        cdef double[:, ::1] weights = np.empty((TILE, n_components))
        cdef double[::1] constants = np.empty(n_components), heap = np.empty(n_nonzero)
        cdef double[::1] pack = aligned_empty((TILE + PACKED_ROWS) * self.d, np.float64)
        with nogil:
            for row in range(n):
                mass += weight[row]
            for _ in range(most):
                known = self.learn_all(count, first, second, factors, offsets, constants)
                if not known:
                    break
                count[:] = 0.0
                first[:] = 0.0
                if not self.tied:
                    second[:] = 0.0
                entropy, now = 0.0, 0.0
                start = 0
                while known and start < n:
                    stop = min(start + TILE, n)
                    densities(self.shape, &x[start, 0], stop - start, self.d, &factors[0, 0], &offsets[0, 0],
                              &constants[0], n_components, &pack[0], &weights[0, 0])
                    for row in range(start, stop):
                        known = (
                            top_l(&weights[row - start, 0], <int> n_components, n_nonzero, &heap[0], &indices[row, 0])
                            == ROW_OK
                            and softmax(&weights[row - start, 0], &indices[row, 0], n_nonzero, &values[row, 0],
                                        &log_z[row]) == ROW_OK
                        )
                        if not known:
                            break
                        now += weight[row] * log_z[row]
                        entropy += self.share_out(&x[row, 0], weight[row], indices[row], values[row], count, first,
                                                  second)
                    start = stop
                now /= mass
                if not known or now - before < tol:
                    break
                before = now
        return entropy if known else NAN

    cdef bint learn_all(
        self, const double[::1] count, const double[:, ::1] first, const double[:, ::1] second,
        double[:, ::1] factors, double[:, ::1] offsets, double[::1] constants
    ) noexcept nogil:
        """The log densities of all components, with their weights; False if one has no density."""
        cdef Py_ssize_t k, n_components = count.shape[0]
        cdef double total = 0.0, evidence
        for k in range(n_components):
            total += self.concentration + count[k]
        total = log(<double> n_components) if total == INFINITY else sparsemix_digamma(total)
        for k in range(n_components):
            constants[k] = self.log_share(count[k]) - total
            if not self.tied and not self.learn(count[k], &first[k, 0], &second[k, 0], constants[k], &factors[k, 0],
                                                &offsets[k, 0], &constants[k], &evidence):
                return False
        return not self.tied or self.learn_tied(count, first, &second[0, 0], factors, offsets, constants, &evidence)

    cdef double share_out(
        self, const double* x, double weight, const int[::1] indices, const double[::1] values, double[::1] count,
        double[:, ::1] first, double[:, ::1] second
    ) noexcept nogil:
        """Add a row to the sums of its components; returns its entropy."""
        cdef Py_ssize_t j, k
        cdef double r, entropy = 0.0
        for j in range(indices.shape[0]):
            r = values[j]
            if r > NEGLIGIBLE:
                k = indices[j]
                entropy -= r * log(r)
                self.add(x, weight * r, &count[k], &first[k, 0], &second[k, 0])
        return weight * entropy

    def split(
        self,
        const double[:, ::1] x,        # IN    (n, D)
        const double[::1] weight,      # IN    (n,)
        const int[::1] order,          # IN    (n,) rows, component by component
        const Py_ssize_t[::1] starts,  # IN    (K + 1,) those of component k are starts[k] to starts[k + 1]
        Py_ssize_t choices,            # IN    how often rows choose between the halves
        unsigned char[::1] side,       # INOUT (n,) half of each row
        double[::1] gains,             # OUT   (K,) of the split in the evidence under hard assignments
        double[:, ::1] counts,         # OUT   (2, K) of the halves
    ):
        """Split each component; returns whether all halves have densities."""
        cdef Py_ssize_t n_components = gains.shape[0], k
        cdef bint known = True
        self.check_groups(x, weight, order, starts, n_components)
        if side.shape[0] != x.shape[0] or counts.shape[0] != 2 or counts.shape[1] != n_components:
            raise ValueError("side must be (n,) and counts (2, K)")
        with nogil:
            for k in range(n_components):
                known = self.split_one(x, weight, order[starts[k]:starts[k + 1]], choices, side, &gains[k],
                                       &counts[0, k], &counts[1, k])
                if not known:
                    break
        return known

    def split_tied(
        self,
        const double[:, ::1] x,        # IN    (n, D)
        const double[::1] weight,      # IN    (n,)
        const int[::1] labels,         # IN    (n,) component of each row
        const double[:, ::1] scatter,  # IN    (1, D (D + 1) / 2) second moments of all rows
        Py_ssize_t choices,            # IN    how often rows choose between the halves
        unsigned char[::1] side,       # INOUT (n,) half of each row
        double[::1] gains,             # OUT   (K,) as in ``split``, under the covariance of all halves
        double[::1] counts,            # OUT   (2 K,) of the halves
    ):
        """``split`` of all components, whose halves share one covariance."""
        cdef Py_ssize_t n_components = gains.shape[0], row, choice, k, half
        cdef bint known = True
        if labels.shape[0] != x.shape[0] or side.shape[0] != x.shape[0] or counts.shape[0] != 2 * n_components:
            raise ValueError("labels and side must be (n,) and counts (2 K,)")
        if x.shape[0] and not 0 <= np.min(labels) <= np.max(labels) < n_components:
            raise ValueError("labels must name components")
        cdef double[:, ::1] first = np.empty((2 * n_components, self.d)), offsets = np.empty((2 * n_components, self.d))
        cdef double[:, ::1] factors = np.empty((2 * n_components, self.size))
        cdef double[::1] constants = np.empty(2 * n_components)
        self.check(x, weight, counts, first, scatter)
        with nogil:
            for choice in range(choices + 1):
                counts[:] = 0.0
                first[:] = 0.0
                for row in range(x.shape[0]):
                    k = labels[row] + n_components * side[row]
                    self.add(&x[row, 0], weight[row], &counts[k], &first[k, 0], NULL)
                known = self.learn_all(counts, first, scatter, factors, offsets, constants)
                if not known or choice == choices:
                    break
                for row in range(x.shape[0]):
                    k, half = labels[row], labels[row] + n_components
                    side[row] = (constants[half] + self.density(&x[row, 0], &factors[half, 0], &offsets[half, 0])
                                 > constants[k] + self.density(&x[row, 0], &factors[k, 0], &offsets[k, 0]))
            if known:
                for k in range(n_components):
                    gains[k] = self.gain_tied(counts[k], &first[k, 0], counts[n_components + k],
                                              &first[n_components + k, 0], &factors[0, 0])
        return known

    cdef double gain_tied(self, double one, const double* first, double two, const double* second,
                          const double* factor) noexcept nogil:
        """Gain of two halves, of which counts and sums are given, under a shared covariance."""
        cdef double both = one + two, gain, apart
        cdef int i
        for i in range(self.d):
            self.means[i] = second[i] / max(two, 1e-30) - first[i] / max(one, 1e-30)
            self.offsets[0, i] = 0.0
        apart = -2.0 * self.density(&self.means[0], factor, &self.offsets[0, 0])
        gain = 0.5 * one * two / max(both, 1e-30) * apart
        gain += 0.5 * self.d * log(self.kappa * (self.kappa + both) / ((self.kappa + one) * (self.kappa + two)))
        return gain + self.size_term(one) + self.size_term(two) - self.size_term(both)

    cdef bint split_one(
        self, const double[:, ::1] x, const double[::1] weight, const int[::1] rows, Py_ssize_t choices,
        unsigned char[::1] side, double* gain, double* first_count, double* second_count
    ) noexcept nogil:
        """See ``split``, of one component."""
        cdef Py_ssize_t at, row, choice
        cdef int half
        cdef double[::1] count = self.counts, constants = self.constants, evidences = self.evidences
        cdef double[:, ::1] first = self.firsts, second = self.seconds, factors = self.factors, offsets = self.offsets
        for choice in range(choices + 1):
            count[:] = 0.0
            first[:] = 0.0
            second[:] = 0.0
            for at in range(rows.shape[0]):
                row, half = rows[at], side[rows[at]]
                self.add(&x[row, 0], weight[row], &count[half], &first[half, 0], &second[half, 0])
            for half in range(2):
                if not self.learn(count[half], &first[half, 0], &second[half, 0], self.log_share(count[half]),
                                  &factors[half, 0], &offsets[half, 0], &constants[half], &evidences[half]):
                    return False
            if choice == choices:
                break
            for at in range(rows.shape[0]):
                row = rows[at]
                side[row] = (constants[1] + self.density(&x[row, 0], &factors[1, 0], &offsets[1, 0])
                             > constants[0] + self.density(&x[row, 0], &factors[0, 0], &offsets[0, 0]))
        for at in range(self.d):
            first[2, at] = first[0, at] + first[1, at]
        for at in range(self.size):
            second[2, at] = second[0, at] + second[1, at]
        first_count[0], second_count[0] = count[0], count[1]
        count[2] = count[0] + count[1]
        if not self.learn(count[2], &first[2, 0], &second[2, 0], 0.0, &factors[2, 0], &offsets[2, 0], &constants[2],
                          &evidences[2]):
            return False
        gain[0] = evidences[0] + evidences[1] - evidences[2]
        gain[0] += self.size_term(count[0]) + self.size_term(count[1]) - self.size_term(count[2])
        return True

    def log_evidences(
        self,
        const double[::1] count,      # IN  (K,) sums of components
        const double[:, ::1] first,   # IN  (K, D)
        const double[:, ::1] second,  # IN  (K, D (D + 1) / 2), (K, D) or (K, 1); tied (1, D (D + 1) / 2)
        double[::1] out,              # OUT (K,) log evidence of the rows of each component, up to N_k D log(2 pi) / 2
    ):
        """Returns whether all components have densities; tied, the evidence of all rows is in the first place."""
        cdef Py_ssize_t k, n_components = count.shape[0]
        cdef bint known = True
        self.check_sums(count, first, second)
        if out.shape[0] != n_components:
            raise ValueError("out must be (K,)")
        if self.tied:
            out[:] = 0.0
            return self.learn_tied(count, first, &second[0, 0], np.empty((n_components, self.size)),
                                   np.empty((n_components, self.d)), np.zeros(n_components), &out[0])
        with nogil:
            for k in range(count.shape[0]):
                known = self.learn(count[k], &first[k, 0], &second[k, 0], 0.0, &self.factors[0, 0],
                                   &self.offsets[0, 0], &self.constants[0], &out[k])
                if not known:
                    break
        return known

    def collect(
        self,
        const double[:, ::1] x,      # IN    (n, D)
        const double[::1] weight,    # IN    (n,)
        const int[:, ::1] indices,   # IN    (n, L) responsibilities
        const double[:, ::1] values,  # IN    (n, L)
        double[::1] count,           # INOUT (K,) sums of the components, to which the rows are added
        double[:, ::1] first,        # INOUT (K, D)
        double[:, ::1] second,       # INOUT (K, D (D + 1) / 2), (K, D) or (K, 1); tied, they stay
    ):
        """Add rows to the sums of their components; returns the entropy of their responsibilities."""
        cdef Py_ssize_t n = x.shape[0], row
        cdef double entropy = 0.0
        self.check(x, weight, count, first, second)
        if indices.shape[0] != n or values.shape[0] != n or values.shape[1] != indices.shape[1]:
            raise ValueError("indices and values must be (n, L)")
        if n and not 0 <= np.min(indices) <= np.max(indices) < count.shape[0]:
            raise ValueError("indices must name components")
        with nogil:
            for row in range(n):
                entropy += self.share_out(&x[row, 0], weight[row], indices[row], values[row], count, first, second)
        return entropy

    def densities_within(
        self,
        const double[:, ::1] x,        # IN  (n, D)
        const double[::1] weight,      # IN  (n,)
        const int[::1] order,          # IN  (n,) rows, component by component
        const Py_ssize_t[::1] starts,  # IN  (K + 1,)
        double[::1] out,               # OUT (n,) for each entry of ``order``
    ):
        """Log densities of the rows of a component under it, less its constant; returns whether all have densities."""
        cdef Py_ssize_t n_components = starts.shape[0] - 1, k, at
        cdef bint known = True
        self.check_groups(x, weight, order, starts, n_components)
        if out.shape[0] != order.shape[0]:
            raise ValueError("out must be (n,)")
        cdef double[:, ::1] first = self.firsts, second = self.seconds, factors = self.factors, offsets = self.offsets
        with nogil:
            for k in range(n_components):
                self.counts[:] = 0.0
                first[:] = 0.0
                second[:] = 0.0
                for at in range(starts[k], starts[k + 1]):
                    self.add(&x[order[at], 0], weight[order[at]], &self.counts[0], &first[0, 0], &second[0, 0])
                known = self.learn(self.counts[0], &first[0, 0], &second[0, 0], 0.0, &factors[0, 0], &offsets[0, 0],
                                   &self.constants[0], &self.evidences[0])
                if not known:
                    break
                for at in range(starts[k], starts[k + 1]):
                    out[at] = self.density(&x[order[at], 0], &factors[0, 0], &offsets[0, 0])
        return known

    def check(self, x, weight, count, first, second):
        """Raise unless rows and sums fit the prior."""
        if x.shape[1] != self.d or weight.shape[0] != x.shape[0]:
            raise ValueError(f"x must be (n, {self.d}) and weight (n,)")
        self.check_sums(count, first, second)

    def check_sums(self, count, first, second):
        """Raise unless sums fit the prior."""
        if first.shape[0] != len(count) or first.shape[1] != self.d:
            raise ValueError(f"first must be (K, {self.d})")
        if second.shape[0] != (1 if self.tied else len(count)) or second.shape[1] != self.size:
            raise ValueError(f"second must be (K, {self.size}), or (1, {self.size}) for all rows")

    def check_groups(self, x, weight, order, starts, n_components):
        """Raise unless rows in the order of their components fit the prior."""
        if x.shape[1] != self.d or weight.shape[0] != x.shape[0] or order.shape[0] != x.shape[0]:
            raise ValueError(f"x must be (n, {self.d}), and weight and order (n,)")
        if starts.shape[0] != n_components + 1 or starts[0] != 0 or starts[n_components] != order.shape[0]:
            raise ValueError("starts must lead from 0 to the number of rows")


def along_axes(
    const double[:, ::1] x,        # IN    (n, D) in units of equal weight
    const int[::1] order,          # IN    (n,) rows, component by component
    const Py_ssize_t[::1] starts,  # IN    (K + 1,)
    Py_ssize_t steps,              # IN    power iterations
    double[:, ::1] direction,      # INOUT (K, D) where they start, and the longest axis of each component
    double[::1] along,             # OUT   (n,) projection of each entry of ``order``, relative to the mean
):
    """Longest axis of the rows of each component."""
    cdef Py_ssize_t k, at, j, step, d = x.shape[1]
    cdef double length, one
    if order.shape[0] != x.shape[0] or along.shape[0] != x.shape[0] or direction.shape[1] != d:
        raise ValueError("order and along must be (n,) and direction (K, D)")
    if starts.shape[0] != direction.shape[0] + 1 or starts[0] != 0 or starts[direction.shape[0]] != order.shape[0]:
        raise ValueError("starts must lead from 0 to the number of rows")
    cdef double[::1] mean = np.empty(d), new = np.empty(d)
    with nogil:
        for k in range(direction.shape[0]):
            mean[:] = 0.0
            for at in range(starts[k], starts[k + 1]):
                for j in range(d):
                    mean[j] += x[order[at], j] / (starts[k + 1] - starts[k])
            for step in range(steps + 1):
                new[:] = 0.0
                for at in range(starts[k], starts[k + 1]):
                    one = 0.0
                    for j in range(d):
                        one += (x[order[at], j] - mean[j]) * direction[k, j]
                    along[at] = one
                    for j in range(d):
                        new[j] += one * (x[order[at], j] - mean[j])
                if step == steps:
                    break
                length = 0.0
                for j in range(d):
                    length += new[j] * new[j]
                length = max(sqrt(length), 1e-30)
                for j in range(d):
                    direction[k, j] = new[j] / length
