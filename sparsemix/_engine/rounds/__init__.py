"""One fit over blocks of rows: which parts make a step, in which order sums are added, what stands for all rows."""
