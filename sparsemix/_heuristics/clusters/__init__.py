"""The prior of Gaussian clusters from their rows: empirical Bayes over the cuts of a tree."""
