"""
Unusual rows
============

A mixture gives every row a density; rows with a low density are unusual. This script learns eight of the ten
handwritten digits. It then looks for the two digits that it has not seen, and for unusual images of the other eight.
``IsolationForest`` and ``LocalOutlierFactor`` do the same.
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

detectors = {
    "SparseGaussianMixture": SparseGaussianMixture(20, covariance_type="low_rank", random_state=0),
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
# The most unusual images
# -----------------------
# Above: lowest densities of all. Below: lowest densities among the digits that the mixture knows, badly written ones.

density, images = scores["SparseGaussianMixture"], test.reshape(-1, 8, 8)
order = np.argsort(density)
figure, axes = plt.subplots(2, 10, figsize=(9, 2.2), layout="constrained")
for line, chosen in zip(axes, (order, order[~unseen[order]]), strict=True):
    for axis, i in zip(line, chosen, strict=False):
        axis.imshow(images[i], cmap="gray_r")
        axis.set_title(str(y[~learned][i]), fontsize=9)
        axis.set_axis_off()

plt.show()
