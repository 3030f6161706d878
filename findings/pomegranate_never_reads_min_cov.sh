#!/usr/bin/env bash
# pomegranate 1.1.2: distributions accept min_cov, "the minimum variance or covariance", and nothing reads it.
#
# Expected: Normal(min_cov=0.1) keeps variances at 0.1 or above, as the docstring says.
# Seen: Normal.__init__ checks and stores self.min_cov, the subclasses pass it on, and no statement of the package loads
# the attribute. A component of few rows then has a singular covariance, and the fit ends in an error of the Cholesky
# decomposition. The sources are read here, because PyTorch, which pomegranate imports, takes minutes to install.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > show.py <<'PYTHON'
import ast
from pathlib import Path

stored, loaded, taken = 0, 0, 0
for path in Path("package/pomegranate").rglob("*.py"):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr == "min_cov":
            stored += isinstance(node.ctx, ast.Store)
            loaded += isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.FunctionDef) and "min_cov" in [argument.arg for argument in node.args.args]:
            taken += 1
print(f"functions that take min_cov: {taken}; attribute stored: {stored}, loaded: {loaded}")
PYTHON
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check --no-deps --target package pomegranate==1.1.2
seen=$(venv/bin/python show.py)
printf '%s\n' "$seen"
[ "$seen" = "functions that take min_cov: 4; attribute stored: 1, loaded: 0" ]
