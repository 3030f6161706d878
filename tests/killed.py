"""Processes that die after a checkpoint: nothing of them lives on but its folder."""

from sparsemix._estimator.checkpoints import CheckpointFolder


class Killed(Exception):  # noqa: N818
    pass


def killed_after(n, monkeypatch):
    """From now on a process dies after its n-th checkpoint, until what is returned is called."""
    original = CheckpointFolder.save

    def save(self, number, state):
        original(self, number, state)
        if number == n:
            raise Killed

    monkeypatch.setattr(CheckpointFolder, "save", save)
    return lambda: monkeypatch.setattr(CheckpointFolder, "save", original)
