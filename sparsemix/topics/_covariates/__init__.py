"""Topics and covariates of documents: priors that depend on them, and effects with intervals."""
