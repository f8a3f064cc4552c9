"""Demo data: comments on eight products in six languages, orders, organisations and tickets."""
