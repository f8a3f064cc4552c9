"""Owners without an account: authors of comments from other software, and erased users.

The ``username`` of an object is the id of the user who owns it: this user may change, export and
erase the object. An export of other software often has only names, and many customers have the same
name. So these authors get ids that no JWT may have.
"""

import re

_WITHOUT_ACCOUNT = re.compile("erased-[0-9a-f]{8}|imported-[0-9a-f]{32}")


def has_account(username: str) -> bool:
    """Return whether a user may sign in with this id."""
    return _WITHOUT_ACCOUNT.fullmatch(username) is None
