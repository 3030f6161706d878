"""Words of texts: cleaning, patterns, languages, stop words, vectorizers."""
