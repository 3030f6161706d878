"""Topics by collapsed inference: in batches under frozen counts, or in sweeps over documents."""
