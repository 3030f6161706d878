"""One fit over blocks of rows: the plan of its steps, the order of its sums, and the subsample it starts from."""
