"""A fitted mixture of a linear likelihood."""

from functools import cached_property

import numpy as np

from sparsemix.mixture._fitted import FittedMixture


class FittedLinear(FittedMixture):
    """The counterpart of FittedMixture for linear likelihoods."""

    def keep(self, stats):
        """See FittedMixture; it also replaces parameters that refer to the old statistics."""
        super().keep(stats)
        vars(self).pop("parameters", None)
        self.model.parameters = self.model.family.kept(self.model.parameters, stats)

    @cached_property
    def parameters(self):
        """Parameters of the last step."""
        return self.model.fitted(self.stats)

    def table(self, kind, dtype):
        """Table of ``"responsibility"`` weights or ``"density"``, in the dtype of the rows."""
        key = kind, np.dtype(dtype)
        if key not in self._tables:
            model = self.model
            if kind == "responsibility":
                log_weights = model.weights.expected_log(self.stats["count"])
                linear = model.family.expected(self.parameters, model.variational)
            else:
                with np.errstate(divide="ignore"):
                    log_weights = np.log(self.weights)
                linear = model.family.plug_in(self.parameters)
            self._tables[key] = linear.table(log_weights, dtype)
        return self._tables[key]
