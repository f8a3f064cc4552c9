"""Standard output of the commands that print tables."""

from rich.console import Console


def console() -> Console:
    """Return a console that prints ids, names and reasons as they are.

    Rich would read ``[/x]`` in them as markup, and ``:cat:`` as a picture.
    """
    return Console(markup=False, emoji=False)
