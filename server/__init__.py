"""The server process: its settings, the HTTP application (``app``), and serving it (``run``)."""
