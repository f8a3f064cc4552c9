"""The process: its settings, the HTTP application (``app``), and what serves it (``run``)."""
