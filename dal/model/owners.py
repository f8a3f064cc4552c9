"""Owners without an account: authors of comments from other software, and erased users.

The ``username`` of an object is the id of the user who owns it: this user may change, export and
erase the object. An export of other software often has only names, and many customers have the same
name. So these authors get ids that no JWT may have.
"""

import json
import re
import secrets
from hashlib import sha256

_WITHOUT_ACCOUNT = re.compile("erased-[0-9a-f]{8}|imported-[0-9a-f]{32}")


def has_account(username: str) -> bool:
    """Return whether a user may sign in with this id."""
    return _WITHOUT_ACCOUNT.fullmatch(username) is None


def imported_owner(*source: str) -> str:
    """Return the id of an imported author. Equal arguments result in the same id."""
    return f"imported-{hashed(*source)}"


def hashed(*texts: str) -> str:
    """Return the first 32 hex digits of a SHA-256 of the texts."""
    return sha256(json.dumps(texts).encode()).hexdigest()[:32]


def erased_owner() -> str:
    """Return a random id for an object of an erased user.

    Each object gets a different id, so that readers cannot see which objects have the same author.
    """
    return f"erased-{secrets.token_hex(4)}"
