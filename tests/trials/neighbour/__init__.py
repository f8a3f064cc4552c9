"""Somebody who asks for pages, beside somebody whose requests would hurt."""
