# Retries

_RETRIES = 2
"""How often a request is sent again that a busy server has refused."""
_PAUSE = 5
"""The longest pause that a busy server asks for, in seconds. Longer ones are those of rate limits, and are left to the caller."""


def _may_retry(method: str, path: str, error: MeshError) -> bool:
    """Returns whether a refused request can be sent again. A write can only if the server says that nothing was written."""
    unchanged = method == "GET" or path == "" or error.effect == "none"
    return unchanged and error.status in (429, 503) and error.retry_after is not None and error.retry_after <= _PAUSE
