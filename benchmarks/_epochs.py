"""Observation of our fits between epochs, by callbacks of scikit-learn 1.9."""


class Epochs:
    """Callback that calls ``begin()`` before the first epoch and ``end(estimator)``, which may stop, after each."""

    def __init__(self, begin, end):
        self.begin, self.end, self.begun = begin, end, False

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing to tidy up."""

    def on_fit_task_begin(self, estimator, context):  # noqa: ARG002
        """Before the first epoch the parameters are initialised."""
        if context.task_name == "pass" and not self.begun:
            self.begun = True
            self.begin()

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):  # noqa: ARG002
        """An epoch is over."""
        return bool(self.end(fitted_estimator)) if context.task_name == "pass" else False
