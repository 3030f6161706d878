"""Collapsed inference of topics: batches under frozen counts, sweeps in place, chains."""
