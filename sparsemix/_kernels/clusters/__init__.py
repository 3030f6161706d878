"""Clusters that grow: densities in clusters, the rule of a normalized generalized gamma process, sweeps over rows."""
