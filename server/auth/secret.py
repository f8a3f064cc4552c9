"""The secret that signs and verifies a server's own JWTs.

MARGINALIA_JWT_SECRET sets it. Otherwise the data directory stores a secret in ``jwt-secret``, a
file that only its owner can read.
"""

import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

from server.errors import CommandError

FILE_NAME = "jwt-secret"

MIN_BYTES = 32
"""RFC 7518, 3.2: HS256 needs a key at least as long as its hash."""


def checked_secret(secret: str, source: str) -> str:
    """Return ``secret`` when it is at least 32 bytes long; CommandError names its ``source``."""
    size = len(secret.encode())
    if size < MIN_BYTES:
        raise CommandError(
            f"{source} holds {size} bytes and HS256 needs at least {MIN_BYTES}: "
            "put a longer one there, such as `openssl rand -base64 32` prints."
        )
    return secret


def secret_source(configured: str | None, data_dir: Path) -> Callable[[], str | None]:
    """Return a function that returns the current secret: the configured one, else the directory's.

    Each call reads the directory, so a server finds a secret that was made after its start.
    """
    if configured is None:
        return lambda: read_secret(data_dir)
    secret = checked_secret(configured, "MARGINALIA_JWT_SECRET")
    return lambda: secret


def read_secret(data_dir: Path) -> str | None:
    """Return the data directory's secret; None if it has none yet. CommandError if unreadable."""
    path = data_dir / FILE_NAME
    try:
        secret = path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"The secret in {path} cannot be read: {error}.") from error
    return checked_secret(secret, str(path))


def ensure_secret(data_dir: Path) -> str:
    """Return the data directory's secret, and make one first if it has none.

    If several processes call this at once, all return the same secret. CommandError if it cannot be
    written.
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
            f"No secret can be kept in {data_dir}: {error.strerror}. "
            "Choose another --data-dir or set MARGINALIA_JWT_SECRET."
        ) from error


def _publish(secret: str, data_dir: Path) -> bool:
    """Write the secret to its file in one step; False when another process was first.

    A hard link is atomic and, unlike a rename, never replaces a file.
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
