"""Mixtures whose log densities are linear in the row: directions (von Mises-Fisher), word counts (multinomial)."""
