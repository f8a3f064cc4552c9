"""The standard output of commands that print tables."""

from rich.console import Console


def console() -> Console:
    """Return a console that prints ids, names and reasons unchanged.

    By default, Rich interprets ``[/x]`` as markup and ``:cat:`` as a picture.
    """
    return Console(markup=False, emoji=False)
