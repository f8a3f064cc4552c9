"""Speed: what a page costs this server and others, over the same rows."""
