"""Programs for developers: not in the wheel and not in the image."""
