"""The account that everybody who tries a demo may write with."""

from dataclasses import dataclass
from datetime import timedelta

from server.auth.authenticator import Authenticator

DEMO_USER = "demo"
DEMO_LIFETIME = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class DemoAccount:
    """A user of no roles, signed in by one click; only a server with the demo's data has one."""

    username: str
    authenticator: Authenticator

    def jwt(self) -> str | None:
        """Return a JWT for some days; None where the server has no secret to sign it with."""
        return self.authenticator.issue(self.username, DEMO_LIFETIME)
