"""When a mixture learns the prior that its components share."""

from sparsemix._engine.loop import Hook
from sparsemix._models.mixture.shared_prior import with_learned_prior


class LearnedPrior(Hook):
    """Learns the prior after epochs 1, 2, 4, 8 and so on: it changes little later, and an update costs a few steps."""

    def end(self, epoch, fit, stats):
        """See Hook; the bound of this epoch is that of the new prior."""
        model, workers, source = fit.model, fit.workers, fit.rows.source
        if epoch & (epoch - 1) == 0:
            learned = with_learned_prior(model, stats, workers.split)
            if learned is not model:
                model.take_prior(learned.prior, stats, workers.split)
                if source is not None:
                    source.changed(stats)
        return stats, False


def of_stream(model, stats, n_steps):
    """The model of a stream before its blocks 2, 3, 5, 9 and so on, with the prior that earlier blocks suggest."""
    if model.learned_prior is None or n_steps & (n_steps - 1) or not n_steps:
        return model
    learned = with_learned_prior(model, stats)
    if learned is not model:
        learned.global_step(stats)
    return learned
