"""Statistics of comments: counts by product, language and rating, for clients and query plans."""
