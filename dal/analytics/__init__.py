"""Questions about all comments, run on a columnar store next to the table."""
