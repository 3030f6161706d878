"""Models and samplers: what changes in one step of a fit, for each kind of estimator."""
