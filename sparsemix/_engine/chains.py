"""Chains of Gibbs samplers: which one to publish, and whether they agree."""

import numpy as np

# A larger R-hat means that the chains disagree.
DISAGREE = 1.1
# The same for the halves of one chain, and the minimum number of its draws. R-hat of ten chains over well separated
# blobs and ten over bars was at most 1.01 for 100 draws and 1.14 for 50; with 20 draws one in 20 was above 1.2.
HALVES_DISAGREE, RELIABLE = 1.2, 50


def log_joints(monitor):
    """Log joint of each epoch of a chain."""
    return np.array([record["log_joint"] for record in monitor.history])


def completed(monitors):
    """The chains that have completed an epoch."""
    return [monitor for monitor in monitors if monitor.stats is not None]


def best_chain(monitors):
    """The chain whose log joint has the highest mean over its second half."""
    return max(monitors, key=lambda one: np.mean(log_joints(one)[len(one.history) // 2 :]))


def attributes_of_chains(monitors, best):
    """Fitted attributes of several chains, of which one is published."""
    return {
        "n_iter_": best.n_epochs_done,
        "history_": list(best.history),
        "chain_log_joints_": [log_joints(one) for one in monitors],
        "r_hat_": r_hat([log_joints(one)[best.samples.burn_in :] for one in monitors]),
    }


def r_hat(chains):
    """Potential scale reduction of split chains (Vehtari et al. 2021, Eq. 3); NaN with fewer than four draws."""
    n = min(len(chain) for chain in chains) // 2
    if n < 2:
        return np.nan
    halves = np.array([part for chain in chains for part in (chain[:n], chain[n : 2 * n])])
    within, between = halves.var(axis=1, ddof=1).mean(), halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return 1.0 if between == 0.0 else np.inf
    return float(np.sqrt((n - 1) / n + between / within))


def disagreement(chains, found, burn_in):
    """What to say if the chains, or the halves of a single one, disagree, so that they do not sample one posterior.

    Parameters
    ----------
    chains : list of ndarray
        Log joints of every epoch.
    found : float
        Their ``r_hat`` after ``burn_in``.
    """
    draws, alone = len(chains[0]) - burn_in, len(chains) == 1
    if not found > (HALVES_DISAGREE if alone else DISAGREE) or (alone and draws < RELIABLE):
        return None
    if alone:
        return (
            f"the chain has not converged: R-hat of log_joint over its halves is {found:.2f}; raise max_iter, compare "
            "several chains (n_chains=4)"
        )
    means = ", ".join(f"{np.mean(values[len(values) // 2 :]):.1f}" for values in chains)
    return (
        f"the {len(chains)} chains disagree: R-hat of log_joint is {found:.2f}, its means are {means}; the best chain "
        "is kept. Raise max_iter"
    )
