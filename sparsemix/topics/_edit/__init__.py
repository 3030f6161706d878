"""Functions of fitted topic models: consensus of several fits, and models with other topics without another fit."""
