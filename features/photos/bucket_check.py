"""Checks the bucket for photos, for ``marginalia serve --check``."""

from dal.table.errors import DalError
from features.photos.settings import PhotoSettings
from features.photos.uploads import open_uploads
from server.findings import Finding, danger, ok


async def checked(settings: PhotoSettings) -> Finding:
    """Check that the server can sign upload forms, and that the bucket's service responds."""
    try:
        async with open_uploads(settings.upload_bucket, settings.upload_url) as uploads:
            if uploads is None:
                return ok("uploads", "not configured.")
            await uploads.reach()
    except DalError as error:
        return danger("uploads", str(error))
    return ok(
        "uploads",
        f"browsers send photos to {uploads.form_url}, and load them from {uploads.url}. Try one "
        "upload: rights and CORS are not checked.",
    )
