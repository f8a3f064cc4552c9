"""Groups of products."""
