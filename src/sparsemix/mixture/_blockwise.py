"""What a fit over blocks of rows asks of mixtures of Gaussians."""

from sparsemix._engine.blocks import Rows
from sparsemix._engine.rounds.sample import SampledRows
from sparsemix._stats.families import GAUSSIANS
from sparsemix.mixture._assemble import default_init_size, step_size
from sparsemix.mixture._start import one_component


class MixtureOfBlocks:
    """A first look at blocks, the rows that a start wants, and the rows of a step."""

    def _refuse_blocks(self):
        if not isinstance(self.init_params, str):
            raise ValueError(
                "init_params is a matrix with a row for every row of the data, which a fit over blocks does not hold; "
                "give means_init and precisions_init, or the name of a start"
            )

    def _survey(self, rows):
        return {"first": rows.total()}

    def _start_size(self, survey):
        if self.init_size is not None:
            return self.init_size
        return default_init_size(GAUSSIANS[self.covariance_type](len(survey.sums["first"])), self.n_components)

    def _whole(self, survey, X, weight, source):
        rows = SampledRows(X, weight, source, float(survey.sums["mass"]), survey.sums["first"] / survey.sums["mass"])
        if len(rows) == survey.n_rows:  # to the last bit, where these are all rows
            rows._mass = Rows(X, weight).mass
        return rows

    def _step_size(self, rows, survey):
        return step_size(self, survey.n_rows, rows.X.shape[1])

    def _moments(self, one, rows, workers):
        return one_component(one, Rows(rows.X, rows.sample_weight, one.shift, one.dtype), workers)
