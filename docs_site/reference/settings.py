"""The settings of a server, in the groups of its ``--help``."""

from collections.abc import Iterator

from typer.core import TyperOption

from docs_site.markdown import table
from docs_site.reference.commands import commands, row_of

_HEADING = ("option", "variable", "default", "what it does")
_FIRST = "Address, pages and time"
"""What has no group of its own."""

OPENING = """\
# Settings

`marginalia serve` takes each as an option or as a variable of the environment; other commands
take those of the store alike. Repeatable options take several values in their variable, with
spaces between them. Where the options contradict each other, the start says so in one sentence.
Credentials and region of Amazon DynamoDB come from the usual AWS variables and files.
"""


def settings_page() -> str:
    """Return the page of a server's settings."""
    return "\n".join([OPENING, *_groups()])


def _groups() -> Iterator[str]:
    groups: dict[str, list[TyperOption]] = {}
    for option in commands()["serve"].params:
        if isinstance(option, TyperOption) and isinstance(option.envvar, str):
            groups.setdefault(option.rich_help_panel or _FIRST, []).append(option)
    for name, options in groups.items():
        yield from (f"## {name}", "", *table(_HEADING, map(row_of, options)), "")
