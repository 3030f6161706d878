#!/usr/bin/env bash
# stepmix 3.0.0: the number of parameters, and so BIC, depends on the codes of the categories and not on their number.
#
# Expected: two answers coded 1 and 99 give the model, the likelihood and the BIC of the same answers coded 0 and 1.
# Seen: the likelihood is the same. A "categorical" column counts as 1 + its largest code, here 100 categories, of which
# 98 never occur. Four columns of two answers have 9 parameters with codes 0 and 1, and 793 with codes 1 and 99, at two
# classes. The lowest BIC then has one class, and with codes 0 and 1 it has two, which are the classes of the data.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > show.py <<'PYTHON'
import numpy as np
from stepmix import StepMix

rng = np.random.default_rng(0)
kind = rng.integers(2, size=600)
answers = np.column_stack([np.where(rng.random(600) < 0.85, kind, 1 - kind) for _ in range(4)])
scores = []
for name, X in (("0 and 1", answers), ("1 and 99", 98 * answers + 1)):
    fits = [StepMix(k, measurement="categorical", n_init=5, random_state=0, progress_bar=0, verbose=0).fit(X)
            for k in (1, 2, 3)]
    scores.append([fit.score(X) for fit in fits])
    print(f"codes {name}: parameters", *(fit.n_parameters for fit in fits), end="; ")
    print("classes by BIC:", 1 + int(np.argmin([fit.bic(X) for fit in fits])))
print("same likelihood of two classes:", bool(np.isclose(scores[0][1], scores[1][1])))
PYTHON
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check stepmix==3.0.0 numpy==2.4.6
seen=$(venv/bin/python -W ignore show.py)
printf '%s\n' "$seen"
[ "$seen" = "codes 0 and 1: parameters 4 9 14; classes by BIC: 2
codes 1 and 99: parameters 396 793 1190; classes by BIC: 1
same likelihood of two classes: True" ]
