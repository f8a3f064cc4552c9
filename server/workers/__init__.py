"""Several processes that serve on one port, over one table."""

from server.workers.supervisor import Workers

__all__ = ["Workers"]
