"""One request: who asks, what they may do, which fields they select, what was read for them."""
