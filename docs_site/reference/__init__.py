"""Pages that are made of the code when the site is built, each by a function of no arguments."""

from collections.abc import Callable

from docs_site.reference.commands import commands_page
from docs_site.reference.errors import errors_page
from docs_site.reference.metrics import metrics_page
from docs_site.reference.schema import schema_page
from docs_site.reference.settings import settings_page

PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands_page,
    "reference/errors.md": errors_page,
    "reference/metrics.md": metrics_page,
    "reference/schema.md": schema_page,
    "reference/settings.md": settings_page,
}
"""By their paths in the site."""
