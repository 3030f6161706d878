"""Judgements of the topics of a run: score, reproducibility, likeness, and advice on the number of topics."""
