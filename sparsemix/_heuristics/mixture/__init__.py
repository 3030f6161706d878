"""Initialisation of mixtures of Gaussians, exchanges, births and repairs of candidate lists."""
