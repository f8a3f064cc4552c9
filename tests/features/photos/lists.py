"""What uploads of photos add to the lists of the core's tests."""

MUTATIONS = {"createPhotoUploads": 'contentTypes: ["image/png"]'}
"""A valid input of each mutation."""
