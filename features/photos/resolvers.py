"""Returns the forms with which browsers upload photos for comments to the shop's bucket."""

from collections.abc import Sequence

import strawberry

from dal.model import rules
from dal.table.errors import InvalidArgumentError
from features.photos.uploads import CONTENT_TYPES, PhotoUploads
from resolvers.authorization import require_grant
from resolvers.mutations import Fields, checked, reported
from resolvers.selection import Info, Input


@strawberry.input(description="The photos to upload.")
class CreatePhotoUploadsInput:
    """Input of ``createPhotoUploads``: the type of each photo."""

    content_types: list[str] = strawberry.field(
        description="Media type of each photo: `image/avif`, `image/jpeg`, `image/png` or "
        "`image/webp`. Maximum 10 photos."
    )


def _content_types(argument: str, given: Sequence[str]) -> Sequence[str]:
    rules.few(argument, given, rules.MAX_PHOTOS)
    for number, one in enumerate(given):
        if one not in CONTENT_TYPES:
            raise InvalidArgumentError(
                f"{argument}.{number}",
                f"{argument}.{number} {one[:99]!r} is not a supported media type. Use one of: "
                f"{', '.join(CONTENT_TYPES)}.",
            )
    return given


@reported(uploads=[], reads_standing=True)
async def create_photo_uploads(info: Info, input: Input[CreatePhotoUploadsInput]) -> Fields:
    """Return forms with which the author's browser uploads photos to the bucket."""
    grant = require_grant(info.context)
    await grant.permission(info.context)
    uploads = info.context.service(PhotoUploads)
    content_types = checked(input, {"content_types": _content_types})["content_types"]
    return {"uploads": await uploads.forms(grant.author.user_id, content_types)}
