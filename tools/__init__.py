"""Programs for developers. The wheel and the container image do not contain them."""
