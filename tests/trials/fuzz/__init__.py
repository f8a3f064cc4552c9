"""Requests that no client means, sent to a server by the ten thousand."""
