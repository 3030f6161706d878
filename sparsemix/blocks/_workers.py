"""The workers of a Dask cluster: whether they have sparsemix, and how long a call waits without any."""

import time

from distributed import wait

from sparsemix._warnings import warn_caller

# Runs on machines that may lack this package, so it is text for ``eval``, which every machine has.
HAS_PACKAGE = "__import__('importlib.util', fromlist=['util']).find_spec('sparsemix') is not None"
# Seconds between looks at the cluster; seconds without workers until a warning.
LOOK_SECONDS, WARN_SECONDS = 2.0, 30.0


class WorkerWatch:
    """Waits for tasks, warns if the cluster has no workers for some time, and gives up after a limit.

    Parameters
    ----------
    client : distributed.Client
    limit : float or None
        Seconds without workers until an error; None waits forever.
    """

    def __init__(self, client, limit):
        if getattr(client, "asynchronous", False):
            raise TypeError("client is asynchronous; create it with asynchronous=False")
        if not hasattr(client, "nthreads"):
            kind = f"the text {client!r}" if isinstance(client, str) else f"a {type(client).__name__}"
            raise TypeError(f"client is {kind}; give a dask.distributed.Client, which Client(address or cluster) opens")
        if getattr(client, "status", None) == "closed":
            raise ValueError("client is closed; open a new Client")
        self._client, self._limit = client, limit
        self._since, self._warned = None, False

    def check_package(self):
        """Wait for the first worker. Raise if the scheduler or a worker cannot import sparsemix."""
        self._since = None
        while not self._client.nthreads():
            self.look()
            time.sleep(0.1)
        if not self._client.run_on_scheduler(eval, HAS_PACKAGE):
            raise RuntimeError("the scheduler of the cluster cannot import sparsemix; install it there")
        found = self._client.run(eval, HAS_PACKAGE)
        lacking = sorted(address for address, has_package in found.items() if not has_package)
        if lacking:
            raise RuntimeError(
                f"worker {lacking[0]} cannot import sparsemix"
                f"{f', and so cannot {len(lacking) - 1} other workers' if len(lacking) > 1 else ''}; install the same "
                "version on all workers"
            )

    def wait(self, futures, show=None):
        """Wait until tasks have ended, with or without error; call ``show`` every few seconds."""
        self._since = None
        while True:
            try:
                wait(futures, timeout=LOOK_SECONDS)
                return
            except TimeoutError:
                self.look()
                if show is not None:
                    show()

    def look(self):
        """Warn or raise if there have been no workers for too long."""
        now = time.monotonic()
        if self._client.nthreads():
            self._since = None
            return
        if self._since is None:
            self._since, self._warned = now, False
        seconds = now - self._since
        if self._limit is not None and seconds >= self._limit:
            raise TimeoutError(
                f"the cluster has had no workers for {seconds:.0f} s, the limit worker_timeout={self._limit:g}; start "
                "workers and call again, with a checkpoint to continue"
            )
        if seconds >= WARN_SECONDS and not self._warned:
            self._warned = True
            until = "until some come" if self._limit is None else f"for at most worker_timeout={self._limit:g} s"
            warn_caller(
                f"the cluster has had no workers for {seconds:.0f} s; the call waits {until}. Dask gives up workers "
                "that restart after more than its setting distributed.deploy.lost-worker-timeout",
            )
