"""Run every benchmark, with the packages for comparison that are installed.

python benchmarks/evidence.py --quick              a tenth of each, under ten minutes on two quiet cores
python benchmarks/evidence.py --data FOLDER        all of it, hours; FOLDER holds corpora as benchmarks/README.md says
python benchmarks/evidence.py --record             and keep it in benchmarks/results

Corpora that are not there are left out or replaced by the docstrings that are installed, which are smaller; what runs
on what is printed.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from _measure import CORES

HERE = Path(__file__).parent
# Programs with their arguments; {NAME} is a file of the folder of corpora, and what lacks its file does without.
QUICK = [
    ["mixture_defaults.py", "--quick"],
    ["mixed_tables.py", "--quick"],
    ["kmeans.py", "--quick"],
    ["consensus.py", "--quick"],
    ["drift.py", "--quick"],
    ["seeds.py", "--quick"],
    ["dmr.py", "--quick"],
    ["hdp.py", "--quick"],
    ["effects.py", "--quick"],
    ["memory.py", "--quick"],
    ["mixture.py", "--quick", "--sections", "pass,candidates,sparsity,memory"],
    ["topics.py", "--K", "20", "--seconds", "1", "--cpu"],
    ["topics.py", "--K", "50", "--seconds", "1", "--cpu", "--peers", "none", "--data", "{docword.kos.txt.gz}"],
    ["sharpness.py", "--seeds", "1", "--data", "{docword.news_t.txt.gz}"],
    ["cells.py", "--seconds", "2", "--cpu"],
    ["threads.py", "--K", "50", "--max-iter", "5", "--rounds", "1"],
    ["skipgram.py", "tokens", "--documents", "300", "--K", "10,100"],
    ["skipgram.py", "scores", "--documents", "500", "--K", "50", "--passes", "5", "--settings", "gibbs"],
    ["clusters.py", "bars", "rows", "--quick"],
    ["clusters.py", "growing", "rules", "--quick"],
    ["clusters.py", "table", "--quick", "--data", "{}"],
    ["departures.py", "--quick"],
    ["options.py", "--quick"],
    ["advice.py", "--quick"],
    ["embeddings.py", "short", "--quick", "--data", "{}"],
    ["topics_of_embeddings.py", "--documents", "1000", "--features", "16", "--K", "20", "--seeds", "1", "--data", "{}"],
    ["denoising.py", "--size", "64", "--K", "10", "--rows", "2000", "--pictures", "camera"],
    ["scale.py", "--documents", "4000", "--words", "1000", "--K", "50", "--passes", "3"],
]
FULL = [
    ["mixture_defaults.py", "--images", "{images}"],
    ["mixed_tables.py"],
    ["mixed_tables.py", "--defaults"],
    ["kmeans.py"],
    *(["consensus.py", "--K", "30", "--data", f"{{docword.{name}.txt.gz}}"]
      for name in ("kos", "ap", "news_t", "reuters21578")),
    ["hdp.py"],
    ["hdp.py", "--data", "{docword.kos.txt.gz}", "{docword.ap.txt.gz}"],
    ["hdp.py", "--iterations", "200", "--data", "{docword.reuters21578.txt.gz}"],
    ["dmr.py"],
    ["dmr.py", "--K", "50", "--seeds", "1", "--iterations", "100", "--data", "{docword.20news.txt.gz}"],
    *(["seeds.py", "--K", "50", "--data", f"{{docword.{name}.txt.gz}}"]
      for name in ("kos", "ap", "reuters21578", "20news", "nips")),
    ["effects.py"],
    ["memory.py"],
    ["memory.py", "--K", "100,1000", "--data", "{docword.20news.txt.gz}"],
    ["drift.py", "--data", "{docword.arxiv.txt.gz}"],
    ["drift.py", "--large", "--data", "{docword.arxiv.txt.gz}"],
    ["drift.py", "--discounts", "--data", "{docword.arxiv.txt.gz}"],
    ["mixture.py", "--images", "{images}"],
    ["topics.py", "--K", "50", "--seconds", "10", "--seeds", "5"],
    ["topics.py", "--K", "50", "--seconds", "4", "--seeds", "5", "--data", "{docword.kos.txt.gz}"],
    ["topics.py", "--K", "200", "--seconds", "20", "--seeds", "5", "--data", "{docword.nips.txt.gz}"],
    ["topics.py", "--K", "100", "--seconds", "4", "--seeds", "5", "--data", "{docword.tweets_t.txt.gz}"],
    ["topics.py", "--K", "200", "--seconds", "25", "--estimators", "SparseSCVB0LDA", "--peers", "tomotopy",
     "--params", '{"SparseSCVB0LDA": {"max_iter": 5}}', "--data", "{docword.arxiv.txt.gz}"],
    ["topics.py", "--transform", "--K", "200", "--data", "{docword.nips.txt.gz}"],
    *(["sharpness.py", "--data", f"{{docword.{name}.txt.gz}}"]
      for name in ("kos", "ap", "news_t", "tweets_t", "reuters21578", "20news", "nips")),
    ["cells.py", "--full", "--K", "50,200", "--seconds", "60"],
    ["threads.py", "--data", "{docword.nips.txt.gz}"],
    ["threads.py", "--max-iter", "2", "--estimators", "SparseSCVB0LDA", "--data", "{docword.arxiv.txt.gz}"],
    ["threads.py", "--estimators", "SparseGaussianMixture,SparseVonMisesFisherMixture"],
    ["skipgram.py", "tokens", "--documents", "2000", "--data", "{tokens.reuters21578.txt.gz}"],
    ["skipgram.py", "scores", "--documents", "4000", "--K", "500", "--data", "{tokens.arxiv.txt.gz}"],
    ["skipgram.py", "senses", "--documents", "4000", "--data", "{tokens.arxiv.txt.gz}"],
    ["skipgram.py", "support", "--documents", "4000", "--K", "500,2000,5000", "--data", "{tokens.arxiv.txt.gz}"],
    ["clusters.py", "bars", "rows", "pitman-yor"],
    ["clusters.py", "growing", "rules"],
    ["departures.py"],
    ["options.py"],
    ["advice.py"],
    ["departures.py", "--only", "topics", "--data", "{docword.kos.txt.gz}"],
    ["departures.py", "--only", "topics", "--seeds", "3", "--K", "100", "--data", "{docword.nips.txt.gz}"],
    ["clusters.py", "table", "paper", "chains", "stream", "short", "speed", "--data", "{}"],
    ["embeddings.py", "rows", "short", "--data", "{}"],
    ["topics_of_embeddings.py", "--data", "{}"],
    ["denoising.py"],
    ["scale.py", "--documents", "100000", "--K", "200"],
    ["scale.py", "--wire"],
]  # fmt: skip
NEEDS_DATA = "--data", "--images"


def programs(quick, data):
    """Command lines with the files that there are, and notes on what is missing."""
    out, notes = [], []
    for program, *words in QUICK if quick else FULL:
        places = [word for word in words if word.startswith("{") and word.endswith("}") and ":" not in word]
        path = Path(data, places[0].strip("{}")) if places and data else None
        kept = [word for word, before in zip(words, ["", *words], strict=False)
                if word not in (*places, *NEEDS_DATA) and before not in NEEDS_DATA]  # fmt: skip
        if program == "threads.py" and len(CORES) < 2:
            notes.append(f"left out, because there is one core: {program} {' '.join(words)}")
        elif not places or (path and path.exists()):
            out.append([program, *(str(path) if word in places else word for word in words)])
        elif program in ("clusters.py", "embeddings.py", "topics_of_embeddings.py"):
            notes.append(f"left out, because corpora are missing: {program} {' '.join(words)}")
        elif any(program == made[0] and made[1:3] == kept[:2] for made in out):
            notes.append(f"left out, because {places[0]} is missing: {program} {' '.join(words)}")
        else:
            out.append([program, *kept])
            notes.append(f"with bundled data, because {places[0]} is missing: {program} {' '.join(kept)}")
    for path in sorted((HERE / "papers").glob("[!_]*.py")):
        out.append([f"papers/{path.name}", *(["--quick"] if quick else []), *(["--data", data] if data else [])])
    return out, notes


def run(program, record, quiet):
    name, *words = program
    print(f"\n== python benchmarks/{name} {' '.join(words)}", flush=True)
    code = subprocess.run(
        [sys.executable, str(HERE / name), *words, *["--record"] * record, *["--quiet-core"] * quiet],
        check=False,
    ).returncode  # fmt: skip
    if code:
        print(f"-- FAILED with code {code}")
    return code == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of each")
    parser.add_argument("--data", metavar="FOLDER", help="docword.NAME.txt.gz, tokens.NAME.txt.gz, labels, images/")
    parser.add_argument("--only", default="", help="benchmarks whose command holds this")
    parser.add_argument("--record", action="store_true", help="put what was measured among the kept results")
    parser.add_argument("--quiet-core", action="store_true", help="say in records that nothing else ran")
    options = parser.parse_args()
    if options.quick and options.record:
        parser.error("--quick measures too little to record; leave one of both out")
    chosen, notes = programs(options.quick, options.data)
    print("\n".join(notes))
    ended = {" ".join(program): run(program, options.record, options.quiet_core) for program in chosen
             if options.only in " ".join(program)}  # fmt: skip
    print("\n".join(f"FAILED: {name}" for name, well in ended.items() if not well))
    return 0 if all(ended.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
