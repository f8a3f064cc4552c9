"""Statistics of comments: counters changed with the writes, read for plans, rebuilt, verified."""
