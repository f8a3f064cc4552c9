"""Live comments: the log of changes, its listeners, and brokers between processes."""
