"""Names of scikit-learn's sibling class that an estimator lacks: one sentence says what takes their place."""

import inspect


class ScikitLearnNames:
    """Refuses parameters of the sibling that the class does not have; ``_elsewhere`` says of each what is ours."""

    _elsewhere: dict = {}  # noqa: RUF012

    def __new__(cls, *args, **params):  # noqa: ARG004
        """Refuse them before the constructor does."""
        for name in sorted(set(params) & set(cls._elsewhere) - set(inspect.signature(cls.__init__).parameters)):
            raise TypeError(f"{cls.__name__} has no parameter {name}: {cls._elsewhere[name]}")
        return super().__new__(cls)


def missing(name, sentence):
    """A property that raises."""

    def refuse(self):
        raise AttributeError(f"{type(self).__name__} has no {name}: {sentence}")

    return property(refuse, doc="Not there.")
