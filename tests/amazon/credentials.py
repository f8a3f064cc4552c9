"""Credentials that expire: some calls fail until the client refreshes the credentials."""

from dataclasses import dataclass

from tests.fakes import client_error


@dataclass
class Expiry:
    """Credentials that are valid for ``calls`` calls.

    The service refuses the next ``stale`` calls.
    """

    calls: int | None = None
    stale: int = 1
    refused: int = 0
    _made: int = 0

    def check(self) -> None:
        """Count a call. Raise the error of expired credentials if the call is refused."""
        if self.calls is None:
            return
        self._made += 1
        if self._made > self.calls:
            self.refused += 1
            if self._made == self.calls + self.stale:
                self._made = 0
            raise client_error("ExpiredTokenException")
