"""Uploads of photos: browsers send files to an S3 bucket, and comments show copies of the files.

Items: none. The photos of a comment are a field of the comment, which the core stores.

Composition: ``schema.roots`` (``createPhotoUploads``), ``server.services`` (opens the bucket, and
passes it to the writes of comments), ``server.settings`` (``--upload-bucket``, ``--upload-url``),
``server.checks`` (``serve --check``).
"""
