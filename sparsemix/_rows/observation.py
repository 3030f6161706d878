"""What is observed of rows: complete values, some missing, or all with noise; and of some rows the label."""

from dataclasses import dataclass

# Kinds of values. Those with noise may be missing too: such a value has infinite noise.
COMPLETE, MISSING, NOISY = "complete", "missing", "noisy"


@dataclass(frozen=True)
class Observation:
    """How rows are observed, and in which form a model reads them.

    Weights are no part of it, since they are a factor of the sums; nor is a background, which is a component of the
    model.

    Attributes
    ----------
    missing : bool
        Whether values may be missing (NaN).
    noise : int
        Number of columns that hold the noise of a row, after its values; 0 without noise.
    labelled : bool
        Whether a last column holds a label.
    """

    missing: bool = False
    noise: int = 0
    labelled: bool = False

    @property
    def value(self):
        """COMPLETE, MISSING or NOISY."""
        return NOISY if self.noise else MISSING if self.missing else COMPLETE

    def followed_by(self, rows):
        """What a model reads that has seen rows of this kind and now sees those of another."""
        return Observation(self.missing or rows.missing, rows.noise, self.labelled or rows.labelled)

    def covers(self, rows):
        """Whether a model for rows of this kind reads those of another kind as they are."""
        return self.missing >= rows.missing and self.labelled >= rows.labelled and self.noise == rows.noise
