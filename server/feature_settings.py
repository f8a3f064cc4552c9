"""The settings of features. ``server.settings.Settings`` inherits them.

The classes have no slots, because a class cannot inherit several classes with slots.
"""

from dataclasses import dataclass

from server.option import setting


@dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """The settings of the demo data."""

    demo: bool = setting(
        False,
        "Load demo data once, and let every visitor write as the user demo. Visitors use the JWT "
        "that the server prints, or sign in on the pages with one click.",
    )
