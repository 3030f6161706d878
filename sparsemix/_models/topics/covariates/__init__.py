"""Priors of documents that depend on covariates."""
