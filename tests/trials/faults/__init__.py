"""Faults between a server and its store: responses to clients, and lost writes."""
