"""Statistics of comments: counts by product, language and rating, for pages and plans."""
