"""Statistics of comments: each write changes counters, and pages and plans read them."""
