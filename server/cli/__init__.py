"""The command line: the program ``marginalia`` and its commands."""
