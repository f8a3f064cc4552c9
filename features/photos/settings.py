"""The settings of uploads of photos."""

import re
from dataclasses import dataclass

from server.option import is_url, setting, split

_BUCKET_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")

_BUCKET = (
    lambda text: _BUCKET_NAME.fullmatch(text) is not None,
    "is not the name of a bucket such as shop-photos.",
)
_HTTPS_URL = (
    lambda text: is_url(text) and text.startswith("https:") and not split(text).query,
    "is not an address such as https://photos.shop.example.",
)


@dataclass(frozen=True, kw_only=True)
class PhotoSettings:
    """The settings of uploads of photos."""

    upload_bucket: str | None = setting(
        None,
        "Bucket of Amazon S3 to which browsers upload photos of comments. The server uses the AWS "
        "credentials and region of the environment. The pages show the photos from the bucket.",
        check=_BUCKET,
    )
    upload_url: str | None = setting(
        None,
        "Address at which browsers read the files of --upload-bucket, such as "
        "https://photos.shop.example. Default: the bucket's own address.",
        check=_HTTPS_URL,
    )
