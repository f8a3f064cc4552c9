"""The functions of the commands. ``server.cli.main`` lists each command with its module."""
