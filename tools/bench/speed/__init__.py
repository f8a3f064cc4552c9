"""Speed: compares the cost of a page on this server with other servers, over the same rows."""
