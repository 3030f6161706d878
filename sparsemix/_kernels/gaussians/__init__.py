"""K Gaussians: densities of rows, chosen pairs, factors of matrices, sums of moments."""
