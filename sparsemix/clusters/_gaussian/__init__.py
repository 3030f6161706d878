"""Gaussian clusters: posteriors in slots, priors chosen by evidence, columns with rounded values."""
