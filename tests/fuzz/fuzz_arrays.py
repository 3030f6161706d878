"""Parameters that are arrays: starts, priors, given topics; of the right shape, or not."""

import numpy as np
from scipy import sparse

WILD = (np.nan, np.inf, -1.0, 0.0, 1e300, 1e-300)


def draw_arrays(rng, params, defaults, X, n_words):
    """One or two parameters given as arrays, which fit the rows more often than not."""
    names = sorted(set(SHAPES) & set(defaults))
    for name in rng.choice(names, size=min(len(names), rng.integers(1, 3)), replace=False):
        n_words, K = max(1, n_words), (defaults | params).get("n_components")
        K = int(K) if isinstance(K, int) and 0 < K < 1000 else 3  # which may be drawn to be no number
        value = SHAPES[name](rng, K, np.shape(X)[0], n_words, defaults | params)
        params[str(name)] = spoilt(rng, value)
    return params


def spoilt(rng, value):
    """The same, or one in four with a number or a shape that it should not have."""
    kind = rng.integers(16)
    if sparse.issparse(value) or not isinstance(value, np.ndarray) or value.size == 0:
        return value
    if kind == 0:
        value.flat[rng.integers(value.size)] = WILD[rng.integers(len(WILD))]
    elif kind == 1:
        return value[:-1]
    elif kind == 2:
        return value[..., np.newaxis]
    elif kind == 3:
        return 0.0 * value
    elif kind == 4:
        return value.astype(np.float32)
    elif kind == 5:
        return value.tolist()
    elif kind == 6:
        value.flags.writeable = False
    return value


def start(rng, K, n, d, params):
    """Topics, of what learns topics; means, or a dict, of mixtures."""
    if "covariance_type" not in params and "candidates" not in params:
        return rng.dirichlet(np.full(d, 0.3), size=K) * 10.0 ** rng.integers(-3, 6)
    kinds = {"weights": weights, "means": means, "precisions": precisions, "responsibilities": responsibilities}
    if rng.random() < 0.3:
        return means(rng, K, n, d, params)
    names = rng.choice([*kinds, "scales"], p=[0.24, 0.24, 0.24, 0.24, 0.04], size=rng.integers(1, 3))
    return {str(name): kinds.get(str(name), mean)(rng, K, n, d, params) for name in names}


def responsibilities(rng, K, n, d, params):  # noqa: ARG001
    """Dense or sparse."""
    if rng.random() < 0.4:
        labels = sparse.csr_array((np.ones(n), rng.integers(K, size=n), np.arange(n + 1)), shape=(n, K))
        return labels if rng.random() < 0.7 else sparse.csc_matrix(labels)
    return rng.dirichlet(np.full(K, 0.3), size=n)


def prior_of_topics(rng, K, n, d, params):  # noqa: ARG001
    return 10.0 ** rng.uniform(-6, 3, K)


def weights(rng, K, n, d, params):  # noqa: ARG001
    return rng.dirichlet(np.full(K, rng.choice([0.01, 1.0])))


def means(rng, K, n, d, params):  # noqa: ARG001
    return rng.normal(scale=10.0 ** rng.integers(-2, 3), size=(K, d))


def mean(rng, K, n, d, params):  # noqa: ARG001
    return rng.normal(scale=10.0 ** rng.integers(-2, 3), size=d)


def matrix(rng, d):
    """Positive definite."""
    factor = rng.normal(size=(d, d + 1))
    return (factor @ factor.T + 1e-3 * np.eye(d)) * 10.0 ** rng.integers(-4, 5)


def covariance(rng, K, n, d, params):  # noqa: ARG001
    """Of the prior, in one of the shapes that some covariances have."""
    kinds = [matrix(rng, d), np.diag(matrix(rng, d)).copy(), float(rng.choice([1e-6, 1.0, 1e6]))]
    like = str(params.get("covariance_type", params.get("likelihood")))
    right = 1 if "diag" in like else 2 if "spherical" in like else 0
    value = kinds[right if rng.random() < 0.8 else rng.integers(3)]
    return ("learned", value) if rng.random() < 0.2 and "covariance_type" in params else value


def precisions(rng, K, n, d, params):  # noqa: ARG001
    """In scikit-learn's shapes."""
    like = str(params.get("covariance_type"))
    many = np.stack([matrix(rng, d) for _ in range(K)])
    shapes = {"diag": np.einsum("kdd->kd", many).copy(), "spherical": many[:, 0, 0].copy(), "tied": many[0],
              "tied_diag": np.diag(many[0]).copy(), "tied_spherical": float(many[0, 0, 0])}  # fmt: skip
    return shapes.get(like, many) if rng.random() < 0.8 else many


def gamma(rng, K, n, d, params):  # noqa: ARG001
    """Shape and rate."""
    return [(2.0, 0.5), (1e-3, 1e3), (0.0, 1.0), (1.0,), (1.0, np.inf), ("a", "b")][rng.integers(6)]


def step_size(rng, K, n, d, params):  # noqa: ARG001
    """Offset and decay, some with a scale in front."""
    values = [(10.0, 0.6), (0, 1), (1e30, 1e-6), (0.0, 0.0), (1.0,), ("half_life", 10.0), ("half_life", 0),
              (100.0, 10.0, 0.9), (1e-300, 1e300, 1.0)]  # fmt: skip
    return values[rng.integers(len(values))]


def mini_epoch(rng, K, n, d, params):  # noqa: ARG001
    """Documents and visits."""
    return [(n, 2), (1, 1), (1 << 40, 2), (0, 1), (5,), None][rng.integers(6)]


def annealing(rng, K, n, d, params):  # noqa: ARG001
    """Start, end and factor of the temperature."""
    return [(10.0, 1.0, 0.6), (0, 1, 1), (1e300, 1e-300, 0.0), (1.0, 0.0, 0.5), (1.0, 1.0), None][rng.integers(6)]


def merges(rng, K, n, d, params):  # noqa: ARG001
    criterion = rng.choice(["bayes_factor", "responsibility", "similarity", "auto"])
    return str(criterion), float(rng.choice([0.0, 0.5, 0.9, -1e300, 1e300, np.nan, np.inf]))


SHAPES = {
    "init_params": start, "doc_topic_prior": prior_of_topics, "input_topic_prior": prior_of_topics,
    "mean_prior": mean,
    "covariance_prior": covariance, "concentration_prior": gamma, "step_size": step_size,
    "input_step_size": step_size, "local_step_size": step_size,
    "mini_epoch": mini_epoch, "annealing": annealing, "merge_criterion": merges,
}  # fmt: skip
