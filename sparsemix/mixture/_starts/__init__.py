"""Initialisation of Gaussian mixtures: seeds and their comparison, splitting, exchanges."""
