"""The user of a JWT."""

from resolvers.context import Viewer
from server.auth.authenticator import Authenticator


async def viewer_of(authenticator: Authenticator, authorization: str) -> Viewer:
    """Return the user of an Authorization header, which must contain no grant."""
    bearer = await authenticator.bearer(authorization)
    assert isinstance(bearer, Viewer)
    return bearer
