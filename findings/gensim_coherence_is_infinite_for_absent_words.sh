#!/usr/bin/env bash
# gensim 4.4.0: c_npmi and c_uci of a topic with a word that the reference texts lack are infinite, c_v is NaN.
#
# Expected: a word that never occurs with the others lowers the coherence of its topic, as it does in u_mass.
# Seen: its probability is zero, and the quotient by it is infinite: the topic scores above all others, and so does
# the mean over topics. It happens to words that are in the dictionary and not in the texts, as those of held-out texts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > show.py <<'PYTHON'
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel

texts = [["a", "b"], ["a", "c"], ["b", "c"], ["a", "b", "c"]] * 5
dictionary = Dictionary([*texts, ["absent"]])
counts = [dictionary.doc2bow(words) for words in texts]
for measure in "u_mass", "c_npmi", "c_uci", "c_v":
    model = CoherenceModel(
        topics=[["a", "b"], ["a", "absent"]], topn=2, coherence=measure, texts=texts, corpus=counts,
        dictionary=dictionary,
    )
    print(measure, *(f"{each:.2f}" for each in model.get_coherence_per_topic()))
PYTHON
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check gensim==4.4.0 numpy==2.4.6 scipy==1.17.1
seen=$(venv/bin/python -W ignore show.py)
printf '%s\n' "$seen"
[ "$seen" = "u_mass -0.41 -27.34
c_npmi -0.17 inf
c_uci -0.12 inf
c_v 0.58 nan" ]
