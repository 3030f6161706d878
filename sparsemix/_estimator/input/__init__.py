"""What enters an estimator: converted once, checked, and named in errors."""
