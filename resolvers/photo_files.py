"""Photos of comments that are files of the shop."""

from collections.abc import Sequence
from typing import Protocol

from dal.model import Photo


class PhotoFiles(Protocol):
    """Files that users have uploaded, of which comments show copies."""

    @property
    def url(self) -> str:
        """The address from which browsers load the files."""

    @property
    def form_url(self) -> str:
        """The address to which browsers send the forms that upload files."""

    async def published(self, user_id: str, photos: Sequence[Photo]) -> tuple[Photo, ...]:
        """Copy the photos that the user has uploaded, and return all photos with final addresses.

        Raises InvalidArgumentError for an upload that is not a file of this user.
        """
