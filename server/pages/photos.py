"""Photos of comments on pages: which of them a page shows, and the form's fields for them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dal.limits import MAX_PHOTOS
from server.pages.addresses import picture_address
from server.pages.i18n import gettext


class PhotoRow(NamedTuple):
    """A row of the form: the address of a photo, and what it shows."""

    url: str = ""
    alt: str = ""


def rows_of(fields: Mapping[str, str]) -> tuple[PhotoRow, ...] | None:
    """Return the rows of a posted form; None if the form has no fields for photos."""
    if "photo-1" not in fields:
        return None
    numbers = range(1, MAX_PHOTOS + 1)
    typed = [(fields.get(f"photo-{n}", ""), fields.get(f"photo-{n}-alt", "")) for n in numbers]
    return tuple(PhotoRow(url.strip(), alt.strip()) for url, alt in typed)


def rows_from(photos: Iterable[Mapping[str, str]]) -> tuple[PhotoRow, ...]:
    """Return the rows for the photos of a comment."""
    rows = [PhotoRow(one["url"], one["alt"]) for one in photos]
    return (*rows, *(PhotoRow() for _ in range(MAX_PHOTOS - len(rows))))


def photos_in(rows: Iterable[PhotoRow]) -> list[dict[str, str]]:
    """Return the input for the rows with an address."""
    return [{"url": one.url, "alt": one.alt} for one in rows if one.url]


def error_of(rows: Iterable[PhotoRow] | None, path: Sequence[str]) -> tuple[str, str] | None:
    """Return the form's field and the message for a photo that the API refuses.

    The path is ``input photos <index> <field>``; the index counts the rows with an address. Return
    None for the path of another field.
    """
    if path[1:2] != ["photos"] or len(path) < 4:  # noqa: PLR2004 - as the docstring says
        return None
    filled = [(number, one) for number, one in enumerate(rows or (), 1) if one.url]
    number, row = filled[int(path[2])]
    if path[3] != "url":
        message = gettext("Please shorten this text.")
    elif row.url.startswith("https://"):  # an upload that the bucket does not have
        message = gettext("The photos could not be uploaded. Please try again.")
    else:
        message = gettext("Enter an address that begins with https://.")
    return f"photo-{number}", message


def photo_parts(
    photos: Sequence[Mapping[str, str]], root: str, origins: Iterable[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the photos that a page shows, and those to which it links, each with its place."""
    shown: list[dict[str, Any]] = []
    linked: list[dict[str, Any]] = []
    for place, one in enumerate(photos, 1):
        ours = picture_address(one["url"], root, origins)
        place_of = {"alt": one["alt"], "place": place, "count": len(photos)}
        (shown if ours else linked).append(place_of | {"address": ours or one["url"]})
    return shown, linked
