"""Topic proportions and covariates of documents: design matrices, and effects with intervals."""
