"""Faults between a server and its store: the responses to clients, and lost writes."""
