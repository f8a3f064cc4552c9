"""Demo data: comments of eight products in six languages, orders, organisations and tickets."""
