"""The server process: HTTP application, settings, embedded engine and command line."""
