"""
Unusual rows
============

A mixture gives every row a density; rows with a low density are unusual. This script learns eight of the ten
handwritten digits. It then looks for the two digits that it has not seen, and for unusual images of the other eight.
``IsolationForest`` and ``LocalOutlierFactor`` do the same. The script also says how many components to take, where to
set a threshold, and what anomalies among the training rows do.
"""

# %%
# The data
# --------
# Images of 8 x 8 pixels from scikit-learn. The mixture learns from half of the digits 0 to 7. The test has the other
# half, and all of 8 and 9, which are the anomalies.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.neighbors import LocalOutlierFactor

from sparsemix import SparseGaussianMixture

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
X = X + rng.uniform(size=X.shape)  # whole numbers have no density
learned = (y < 8) & (rng.uniform(size=len(y)) < 0.5)
test, unseen = X[~learned], y[~learned] >= 8
print(f"{learned.sum()} rows to learn from, {len(test)} to judge, {unseen.mean():.0%} of them unseen digits")

# %%
# Scores
# ------
# ``score_samples`` is the log density of a row, and every detector has a method of this name. Low is unusual. The area
# under the curve (AUC) is the probability that an unseen digit scores lower than a known one.
#
# Take one Gaussian where ordinary rows form one cloud, such as a machine in one state: its scores are Mahalanobis
# distances. Take several where they form groups, as digits do. One Gaussian then covers the space between the groups,
# where anomalies may be.

detectors = {
    "SparseGaussianMixture": SparseGaussianMixture(20, covariance_type="low_rank", random_state=0),
    "one Gaussian": SparseGaussianMixture(1, random_state=0),
    "IsolationForest": IsolationForest(random_state=0),
    "LocalOutlierFactor": LocalOutlierFactor(novelty=True),
}
figure, axis = plt.subplots(figsize=(5, 4), layout="constrained")
scores = {}
for name, detector in detectors.items():
    scores[name] = detector.fit(X[learned]).score_samples(test)
    area = roc_auc_score(unseen, -scores[name])
    false, true, _ = roc_curve(unseen, -scores[name])
    axis.plot(false, true, label=f"{name}: AUC {area:.3f}")
    print(f"{name:22} AUC {area:.3f}")
axis.set(xlabel="share of known digits reported", ylabel="share of unseen digits found")
axis.legend()

# %%
# A threshold
# -----------
# Report rows below a quantile of the scores of ordinary rows: 5 % of these are then reported by mistake. Take the
# quantile from ordinary rows outside the training data. Training rows have higher densities, the more so the more
# components there are, and their quantile reports far too many rows.

density = scores["SparseGaussianMixture"]
known = np.flatnonzero(~unseen)
calibration, ordinary = known[::2], known[1::2]
for name, of_rows in {
    "other rows": density[calibration],
    "training rows": detectors["SparseGaussianMixture"].score_samples(X[learned]),
}.items():
    reported = density < np.quantile(of_rows, 0.05)
    print(f"threshold from {name:14} reports {reported[ordinary].mean():4.0%} of known digits, "
          f"{reported[unseen].mean():4.0%} of unseen ones")  # fmt: skip

# %%
# Anomalies among the training rows
# ---------------------------------
# The mixture describes all rows that it learns from. Here some of the unseen digits join the training rows. Five of
# them already raise the density of their kind. Many similar ones get components, whose rows are then ordinary for the
# mixture; the last column counts components most of whose training rows are anomalies. So look at the rows of light
# components (small ``weights_``, rows by ``predict``) before you use scores, and fit again without anomalies.

order = rng.permutation(np.flatnonzero(y >= 8))
for n_anomalies in (0, 5, 20, 60, 150):
    training = np.concatenate([np.flatnonzero(learned), order[:n_anomalies]])
    rest = np.setdiff1d(np.arange(len(y)), training)
    mixture = SparseGaussianMixture(20, covariance_type="low_rank", random_state=0).fit(X[training])
    area = roc_auc_score(y[rest] >= 8, -mixture.score_samples(X[rest]))
    component = mixture.predict(X[training])
    shares = [np.mean(y[training][component == k] >= 8) for k in np.unique(component)]
    n_taken = np.sum(np.array(shares) > 0.5)
    print(f"{n_anomalies:3} anomalies among {len(training)} rows: AUC {area:.3f}, {n_taken} components of anomalies")

# %%
# The most unusual images
# -----------------------
# Above: lowest densities of all. Below: lowest densities among the digits that the mixture knows, badly written ones.

images = test.reshape(-1, 8, 8)
order = np.argsort(density)
figure, axes = plt.subplots(2, 10, figsize=(9, 2.2), layout="constrained")
for line, chosen in zip(axes, (order, order[~unseen[order]]), strict=True):
    for axis, i in zip(line, chosen, strict=False):
        axis.imshow(images[i], cmap="gray_r")
        axis.set_title(str(y[~learned][i]), fontsize=9)
        axis.set_axis_off()

plt.show()
