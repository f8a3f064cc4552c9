"""Photos of comments: which photos a page shows, and the fields for photos in the comment form."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from dal.model.rules import MAX_ALT, MAX_PHOTOS
from pages import formats
from pages.addresses import picture_address
from pages.i18n import gettext

PhotoRow: TypeAlias = Mapping[str, str]
"""A row of the comment form: ``url``, the address of a photo, and ``alt``, which describes it."""


def rows_of(fields: Mapping[str, str]) -> tuple[PhotoRow, ...] | None:
    """Return the rows in a posted form; None if the form has no fields for photos."""
    if "photo-1" not in fields:
        return None
    names = [f"photo-{number}" for number in range(1, MAX_PHOTOS + 1)]
    typed = [(fields.get(name, ""), fields.get(f"{name}-alt", "")) for name in names]
    return tuple({"url": url.strip(), "alt": alt.strip()} for url, alt in typed)


def rows_from(photos: Iterable[Mapping[str, str]]) -> tuple[PhotoRow, ...]:
    """Return the rows of a form for these photos, and empty rows up to ``MAX_PHOTOS`` in total."""
    rows = tuple(photos)
    return (*rows, *[{"url": "", "alt": ""}] * (MAX_PHOTOS - len(rows)))


def error_of(rows: Iterable[PhotoRow] | None, path: Sequence[str]) -> tuple[str, str] | None:
    """Return the form's field and the message for a photo that the API refuses.

    The path of the API's error is ``input photos <index> <field>``. The index counts only rows with
    an address. Return None for another path.
    """
    if path[1:2] != ["photos"] or len(path) < 4:  # noqa: PLR2004 - as the docstring says
        return None
    filled = [(number, one) for number, one in enumerate(rows or (), 1) if one["url"]]
    number, row = filled[int(path[2])]
    if path[3] != "url":
        message = gettext(
            "Please shorten the description of this photo to %(most)s characters.",
            most=formats.number(MAX_ALT),
        )
    elif row["url"].startswith("https://"):  # an invalid URL, or an upload that the bucket lacks
        message = gettext("This photo is not available. Check its link, or upload the photo again.")
    else:
        message = gettext("Enter an address that begins with https://.")
    return f"photo-{number}", message


def photo_parts(
    photos: Sequence[Mapping[str, str]], root: str, origins: Iterable[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the photos that a page shows, and the photos to which the page links instead.

    A page shows only photos of this site and of ``origins``. Each returned photo has its place in
    ``photos``, from 1, and the total number of photos.
    """
    shown: list[dict[str, Any]] = []
    linked: list[dict[str, Any]] = []
    for place, one in enumerate(photos, 1):
        ours = picture_address(one["url"], root, origins)
        place_of = {"alt": one["alt"], "place": place, "count": len(photos)}
        (shown if ours else linked).append(place_of | {"address": ours or one["url"]})
    return shown, linked
