"""Signs upload forms for browsers, and copies the uploaded photos of saved comments.

A form uploads one file to ``uploads/<user>/<id>.<ext>``. ``<user>`` is a hash of the user's id, and
``<id>`` is random. When a comment is saved, the file is copied to ``photos/<id>-<ETag>.<ext>``, and
the comment gets the address of the copy. So the author cannot replace a photo that a moderator has
approved. The address is public, so it does not depend on the user. The bucket may delete everything
below ``uploads/`` after a day.
"""

import hashlib
import re
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from dal.dynamodb.concurrency import in_parallel
from dal.model import Photo
from dal.table.errors import InvalidArgumentError, StoreRefusedError

MAX_UPLOAD = 10_000_000
"""Maximum bytes of an uploaded photo. Phones make photos of 2 to 6 MB."""

CONTENT_TYPES: Mapping[str, str] = {
    "image/avif": "avif",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
}
"""Maps the accepted media types of photos to file extensions. SVG is not accepted, because it may
contain scripts."""

_SECONDS = 600
"""Seconds for which a form is valid."""

_UPLOAD = re.compile(
    rf"uploads/([0-9a-f]{{32}})/([0-9a-f]{{32}})\.({'|'.join(CONTENT_TYPES.values())})"
)
"""The key of an upload: ``uploads/<user>/<id>.<ext>``."""


class FileStore(Protocol):
    """The operations on a bucket that uploads need. ``S3`` implements them."""

    async def upload_form(
        self, key: str, content_type: str, largest: int, seconds: int
    ) -> tuple[str, dict[str, str]]:
        """Return the URL and the fields of a form that uploads one file.

        ``largest`` is the file's maximum size in bytes. The form is valid for ``seconds``.
        """

    async def tag(self, key: str) -> str | None:
        """Return the ETag of a file; None if the file is missing."""

    async def copy(self, source: str, tag: str, target: str) -> bool:
        """Copy a file. Return False if the source no longer has the ETag ``tag``."""


class UploadField(NamedTuple):
    """A field of the form that uploads a photo."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A form that uploads one photo to ``url``. The form sends ``fields`` before the file."""

    url: str
    fields: Sequence[UploadField]
    photo_url: str
    """The photo's URL for ``addComment`` or ``updateComment`` after the upload."""
    expires_at: datetime
    max_bytes: int = MAX_UPLOAD


def _folder_of(user_id: str) -> str:
    return hashlib.sha256(user_id.encode()).hexdigest()[:32]


class PhotoUploads:
    """Signs upload forms, and copies uploaded photos to their public addresses."""

    missing: ClassVar[str] = "This server does not accept uploads: send the URLs of photos instead."

    def __init__(self, store: FileStore, url: str, form_url: str) -> None:
        self._store = store
        self.url = url.rstrip("/")
        """The address from which browsers load the bucket's files."""
        self.form_url = form_url
        """The address to which browsers send upload forms."""

    @classmethod
    async def open(cls, store: FileStore, url: str | None) -> "PhotoUploads":
        """Return the ``PhotoUploads`` of a bucket.

        Browsers load photos from ``url``, or from the bucket's own address if ``url`` is None.
        Raises StoreRefusedError if AWS credentials are missing, or if the photos' address is not
        https.
        """
        form_url, _ = await store.upload_form("uploads/", "image/png", 1, 1)
        if not (url or form_url).startswith("https://"):
            raise StoreRefusedError(
                f"The bucket's address {form_url} is not https: set --upload-url to an https "
                "address of the bucket's files."
            )
        return cls(store, url or form_url, form_url)

    async def reach(self) -> None:
        """Send a request to the bucket. Raises StoreUnavailableError if the bucket cannot be used.

        Success does not prove that the bucket exists and that the server may use it: without the
        right to list the bucket, S3 gives the same answer for a missing file.
        """
        await self._store.tag("uploads/")

    async def forms(self, user_id: str, content_types: Sequence[str]) -> list[UploadForm]:
        """Return one upload form of the user for each content type."""
        expires_at = datetime.now(UTC) + timedelta(seconds=_SECONDS)
        forms = []
        for content_type in content_types:
            name = f"{uuid.uuid4().hex}.{CONTENT_TYPES[content_type]}"
            key = f"uploads/{_folder_of(user_id)}/{name}"
            url, fields = await self._store.upload_form(key, content_type, MAX_UPLOAD, _SECONDS)
            named = [UploadField(*one) for one in fields.items()]
            forms.append(UploadForm(url, named, f"{self.url}/{key}", expires_at))
        return forms

    async def published(self, user_id: str, photos: Sequence[Photo]) -> tuple[Photo, ...]:
        """Copy the photos that the user has uploaded, and return all photos with final addresses.

        An uploaded photo gets the address of its copy. Other photos keep their addresses. The same
        file always gets the same address, so that a retried request has the same content. Raises
        InvalidArgumentError for an address below ``uploads/`` that is not a file of this user.
        """
        reads = [self._published(user_id, number, one) for number, one in enumerate(photos)]
        return tuple(await in_parallel(reads))

    async def _published(self, user_id: str, number: int, photo: Photo) -> Photo:
        source = photo.url.removeprefix(f"{self.url}/")
        key = _UPLOAD.fullmatch(source) if source != photo.url else None
        if key is None and not self._may_be_upload(photo.url):
            return photo
        if key is not None and key[1] == _folder_of(user_id):
            tag = await self._store.tag(source)
            target = f"photos/{key[2]}-{tag}.{key[3]}"
            if tag is not None and await self._store.copy(source, tag, target):
                return Photo(f"{self.url}/{target}", photo.alt)
        raise InvalidArgumentError(
            f"photos.{number}.url",
            f"photos.{number}.url is not the URL of a file that you have uploaded: "
            "upload the photo again.",
        )

    def _may_be_upload(self, url: str) -> bool:
        """Return whether a URL may point to an upload, in any spelling of its host and path.

        A photo with such a URL must be refused, because its author could replace the file after a
        moderator has approved the photo.
        """
        # A dot at the end of a host name makes no difference.
        host, *ours = (
            (urlsplit(one).hostname or "").removesuffix(".")
            for one in (url, self.url, self.form_url)
        )
        return host in ours and "/uploads/" in unquote(urlsplit(url).path)


@asynccontextmanager
async def open_uploads(bucket: str | None, url: str | None) -> AsyncIterator[PhotoUploads | None]:
    """Yield the object that signs upload forms for a bucket; None without a bucket.

    Browsers load photos from ``url``, or from the bucket's own address if ``url`` is None.
    """
    if bucket is None:
        yield None
        return
    from dal.dynamodb.sdk import open_s3  # noqa: PLC0415 - imports the AWS SDK

    async with open_s3(bucket) as store:
        yield await PhotoUploads.open(store, url)
