"""How much faster an epoch would be with more cores: models, and no measurements."""


def amdahl(alone, n_cores, uneven=0.0, even=1.0):
    """Times faster where a share ``alone`` of one thread's time is one thread's, and the rest is shared out.

    Of the time a share ``uneven`` keeps threads busy for a share ``even`` of theirs only.
    """
    shared = max(0.0, 1.0 - alone - uneven)
    return 1.0 / (alone + shared / n_cores + uneven / (n_cores * even))


def bandwidth_limit(bytes_token, n_tokens, seconds, bandwidth):
    """Times faster than ``seconds`` an epoch may be before its bytes take as long; None if they were not counted."""
    return None if bytes_token is None else seconds * bandwidth / (bytes_token * n_tokens)
