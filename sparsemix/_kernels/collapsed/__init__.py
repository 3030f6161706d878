"""Collapsed inference of topics: minibatches under frozen counts, sweeps in place, chains."""
