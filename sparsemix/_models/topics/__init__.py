"""Topics: document steps, samplers and updates of the counts of words."""
