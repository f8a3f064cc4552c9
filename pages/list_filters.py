"""The filters of a product's comments that are on or off, and the texts that pages show."""

from collections.abc import Mapping
from typing import NamedTuple

from pages.i18n import gettext_noop


class Switch(NamedTuple):
    """A filter that is on or off: an argument of the API, and the filter's texts."""

    argument: str
    heading: str
    label: str
    title: str
    """The words for the filter in a page's title."""
    uncounted: str
    """The sentence that explains why the filter form has no numbers."""
    wider: str
    """The words for a list without the filter."""


SWITCHES: Mapping[str, Switch] = {
    "verified": Switch(
        "verifiedOnly",
        gettext_noop("Purchase"),
        gettext_noop("Verified purchases"),
        gettext_noop("verified purchases only"),
        gettext_noop("Numbers are not available while you filter by verified purchases."),
        gettext_noop("With or without a purchase"),
    ),
    "photos": Switch(
        "hasPhotos",
        gettext_noop("Photos"),
        gettext_noop("With photos"),
        gettext_noop("with photos only"),
        gettext_noop("Numbers are not available while you filter by photos."),
        gettext_noop("With or without photos"),
    ),
}
"""The filters by their names in addresses, in the order of addresses and of the form."""
