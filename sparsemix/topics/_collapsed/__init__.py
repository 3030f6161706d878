"""Topics by collapsed inference: in minibatches under frozen counts, or sweeping over documents in order."""
