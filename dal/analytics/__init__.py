"""Questions about all comments at once, answered by a columnar store beside the table."""
