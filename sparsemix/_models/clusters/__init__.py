"""Mixtures with a growing number of clusters: rows assigned one by one."""
