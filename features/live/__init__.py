"""Live comments: the log of changes, its listeners, and brokers that connect several processes."""
