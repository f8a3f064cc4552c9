"""The secret that signs and verifies a server's own JWTs.

MARGINALIA_JWT_SECRET sets the secret. Otherwise it is in the file ``jwt-secret`` of the data
directory. Only the file's owner can read it.
"""

import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

from server.errors import CommandError

FILE_NAME = "jwt-secret"

MIN_BYTES = 32
"""Minimum bytes of the secret. RFC 7518, 3.2: a key for HS256 must be at least as long as the
output of its hash function, SHA-256."""


def checked_secret(secret: str, source: str) -> str:
    """Return ``secret`` if it has at least ``MIN_BYTES`` bytes. Otherwise raise CommandError.

    The error's message names ``source``, the setting or file that contains the secret.
    """
    size = len(secret.encode())
    if size < MIN_BYTES:
        raise CommandError(
            f"{source} has {size} bytes, but HS256 needs at least {MIN_BYTES}: "
            "set a longer secret, for example the output of `openssl rand -base64 32`."
        )
    return secret


def secret_source(configured: str | None, data_dir: Path) -> Callable[[], str | None]:
    """Return a function that returns the current secret: the configured one, or the directory's.

    Without a configured secret, each call reads the directory. So a server also finds a secret that
    was created after its start.
    """
    if configured is None:
        return lambda: read_secret(data_dir)
    secret = checked_secret(configured, "MARGINALIA_JWT_SECRET")
    return lambda: secret


def read_secret(data_dir: Path) -> str | None:
    """Return the data directory's secret, or None if there is none.

    Raises CommandError if the secret cannot be read or is too short.
    """
    path = data_dir / FILE_NAME
    try:
        secret = path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"The secret in {path} cannot be read: {error}.") from error
    return checked_secret(secret, str(path))


def ensure_secret(data_dir: Path) -> str:
    """Return the data directory's secret. If there is none, create it.

    If several processes call this function at the same time, all return the same secret. Raises
    CommandError if the secret cannot be read or written.
    """
    secret = read_secret(data_dir)
    if secret is not None:
        return secret
    made = secrets.token_urlsafe(MIN_BYTES)
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        return made if _publish(made, data_dir) else ensure_secret(data_dir)
    except OSError as error:
        raise CommandError(
            f"The secret cannot be written to {data_dir}: {error.strerror}. "
            "Choose another --data-dir or set MARGINALIA_JWT_SECRET."
        ) from error


def _publish(secret: str, data_dir: Path) -> bool:
    """Write the secret to its file in one step. Return False if the file already exists.

    The step is a hard link, which is atomic and, unlike a rename, never replaces an existing file.
    """
    handle, draft = tempfile.mkstemp(prefix=f".{FILE_NAME}-", dir=data_dir)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secret + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, data_dir / FILE_NAME)
    except FileExistsError:
        return False
    finally:
        Path(draft).unlink()
    return True
