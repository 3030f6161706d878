"""Clusters of rows of numbers: their posteriors in slots, their prior by the evidence, columns recorded in steps."""
