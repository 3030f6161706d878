"""Constants of the heuristics for mixtures of Gaussians; ``benchmarks/ablate.py`` measures what each rule gains."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """Constants in one place. ``POLICY`` is in use; an experiment may replace it.

    Attributes
    ----------
    kmeans_runs : int
        Runs of k-means, of which the most compact clusters stay, if they are cheap.
    judge_steps : int
        Steps before two initialisations are compared.
    held_out, most_held_out : float, int
        Share of the rows that are held out for the comparison, and their largest number.
    sure : float
        Standard errors by which a later initialisation must be better. A single row can cause a difference of one.
    trial_from, trial : int
        From this number of components on, a later method first runs on the rows of every ``trial``-th cluster of the
        first one, and is left out where it is worse there. Fewer components on all rows would be no test: 300 clusters
        look like a continuum to 37 components.
    growth_steps : int
        Steps of all components after each round of splits.
    choices, power_steps : int
        Number of times that rows choose between halves, and power iterations for the longest axis.
    climb_steps, climb_tol : int, float
        Most steps before and after exchanges, and the gain in nats per row below which they end.
    exchanges, rows_per_column : bool, float
        Whether components are exchanged, and the least number of rows for each column of a covariance matrix.
    partners : int
        Neighbours of a component with which it may be merged.
    least_rows : int
        A component with fewer rows is not split.
    births_from : int
        From this number on, components describe a density rather than clusters: the initialisation tries
        "splitting" and learns scales of priors, and a fit replaces dead components.
    dead : float
        A component is dead if it has less than this share of N / K rows.
    """

    kmeans_runs: int = 5
    judge_steps: int = 2
    held_out: float = 0.25
    most_held_out: int = 4_000
    sure: float = 2.0
    trial_from: int = 128
    trial: int = 8
    growth_steps: int = 2
    choices: int = 2
    power_steps: int = 6
    climb_steps: int = 30
    climb_tol: float = 0.01
    exchanges: bool = True
    rows_per_column: float = 4.0
    partners: int = 4
    least_rows: int = 4
    births_from: int = 16
    dead: float = 0.1


POLICY = Policy()


def few_components(n_components):
    """Whether components should match the clusters of the data; more of them describe a density."""
    return n_components < POLICY.births_from
