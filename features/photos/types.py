"""The GraphQL types of photo uploads: forms that browsers send to the shop's bucket."""

from datetime import datetime

import strawberry

from features.photos import resolvers as photos
from schema.costs import listed, mutation
from schema.execution.facts import facts
from schema.types import USER_ERRORS, UserError


@strawberry.type(description="A field of an upload's form.")
class PhotoUploadField:
    """The GraphQL type of ``features.photos.uploads.UploadField``."""

    name: str = strawberry.field(description="Name of the field.")
    value: str = strawberry.field(description="Value of the field.")


@strawberry.type(
    description="A form that uploads one photo. Send it by POST as `multipart/form-data`: first "
    "the `fields`, then the photo in a field named `file`."
)
class PhotoUpload:
    """The GraphQL type of ``features.photos.uploads.UploadForm``."""

    url: str = strawberry.field(description="URL to send the form to.")
    fields: list[PhotoUploadField] = strawberry.field(
        description="Fields to send before the file.",
        metadata=facts(reads=listed(8)),
    )
    photo_url: str = strawberry.field(
        description="URL to pass in `photos` of `addComment` or `updateComment` after the "
        "upload. The server copies the file, and the comment then has the URL of the copy."
    )
    max_bytes: int = strawberry.field(description="Maximum size of the file in bytes.")
    expires_at: datetime = strawberry.field(
        description="Time at which the form expires: 10 minutes after the server created it."
    )


@strawberry.type(description="Result of `createPhotoUploads`.")
class CreatePhotoUploadsPayload:
    """The GraphQL type of what ``features.photos.resolvers.create_photo_uploads`` returns."""

    uploads: list[PhotoUpload] = strawberry.field(
        description="A form for each photo, in the order of the input; empty on errors.",
        metadata=facts(reads=listed(10)),
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)


@strawberry.type
class PhotoMutation:
    """Binds each mutation to its resolver."""

    create_photo_uploads: CreatePhotoUploadsPayload | None = mutation(
        resolver=photos.create_photo_uploads,
        description="Get forms with which the signed-in user uploads photos to the shop's "
        "bucket. Add the photos to a comment within a day, because the bucket deletes older "
        "uploads. Fails with NOT_AVAILABLE if the server has no bucket.",
    )
