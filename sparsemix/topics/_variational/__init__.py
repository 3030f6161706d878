"""Topics by variational Bayes, with sparse or dense responsibilities."""
