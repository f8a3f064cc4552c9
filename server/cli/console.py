"""Makes the console on which commands print tables."""

from rich.console import Console


def console() -> Console:
    """Return a Rich console for standard output. The console prints text unchanged.

    By default, Rich would interpret ``[/x]`` in an id or a name as markup, and ``:cat:`` as an
    emoji.
    """
    return Console(markup=False, emoji=False)
