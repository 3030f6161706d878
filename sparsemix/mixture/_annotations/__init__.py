"""What a caller knows about rows besides their values: labels, and the variances of their noise."""
