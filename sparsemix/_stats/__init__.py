"""Values and pure functions: sufficient statistics, responsibilities, likelihood families, priors of the weights."""
