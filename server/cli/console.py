"""Makes the console on which commands print tables."""

from rich.console import Console


def console() -> Console:
    """Return a Rich console for standard output. It prints ids, names and reasons unchanged.

    By default, Rich would interpret ``[/x]`` in them as markup and ``:cat:`` as a picture.
    """
    return Console(markup=False, emoji=False)
