"""Speed: compares the CPU time and latency of pages on this server and on other servers."""
