"""Functions of fitted topic models: consensus of several fits."""
