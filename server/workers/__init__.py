"""Several processes that serve on one port, over one table.

The parent (``supervisor``) starts a fork server (``__main__``), which forks the workers
(``worker``).
"""
