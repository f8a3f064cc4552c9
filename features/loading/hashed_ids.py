"""Ids that are hashes: of rows without an id, and of authors from other software."""

import json
from hashlib import sha256


def imported_owner(*source: str) -> str:
    """Return the id of an imported author. Equal arguments result in the same id."""
    return f"imported-{hashed(*source)}"


def hashed(*texts: str) -> str:
    """Return the first 32 hex digits of a SHA-256 of the texts."""
    return sha256(json.dumps(texts).encode()).hexdigest()[:32]
