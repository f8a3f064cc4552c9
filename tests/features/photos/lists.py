"""What uploads of photos add to the lists of the core's tests."""

MUTATIONS = {"createPhotoUploads": 'contentTypes: ["image/png"]'}
"""A valid input of each mutation."""

SETTINGS = {
    "upload_bucket": ("shop-photos", "shop-photos"),
    "upload_url": ("https://photos.example", "https://photos.example"),
}
"""Settings with the text of the environment variable and the value."""

NO_WRITES = tuple(MUTATIONS)
"""Mutations that write nothing to the table."""
