"""Statistics of comments: counters that each write changes, and that pages and plans read."""
