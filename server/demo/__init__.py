"""Demo data: products, comments in six languages, profiles, orders, organisations and tickets."""
