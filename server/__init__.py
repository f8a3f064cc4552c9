"""The server and the command line. ``app`` is the HTTP application, and ``run`` serves it."""
