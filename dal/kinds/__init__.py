"""What commands that work on every item know about the items of a feature."""
