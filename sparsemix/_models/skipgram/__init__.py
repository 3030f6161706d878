"""Skip-gram topics: samplers and updates of their counts."""
