"""The token endpoint of an issuer, for sign-in: see ``pages.sign_in``.

The import of httpx_oauth takes time, so this module is imported at the first sign-in.
"""

from typing import Any

import httpx
from httpx_oauth.oauth2 import BaseOAuth2, OAuth2RequestError

from server.auth.issuer import body_of


class TokenEndpoint(BaseOAuth2[dict[str, Any]]):
    """An OAuth2 client that reads responses up to the maximum of an issuer's document."""

    async def send_request(
        self,
        client: httpx.AsyncClient,
        request: httpx.Request,
        auth: httpx.Auth | None,
        *,
        exc_class: type[OAuth2RequestError],
    ) -> httpx.Response:
        """Return the response to a request.

        Raise ``exc_class`` for an error or a redirect, and ValueError if the response is too long.
        """
        try:
            streamed = await client.send(request, auth=auth, stream=True)
            try:
                body = await body_of(streamed)
            finally:
                await streamed.aclose()
        except httpx.HTTPError as error:
            raise exc_class(str(error)) from error
        response = httpx.Response(streamed.status_code, content=body, request=request)
        try:
            return response.raise_for_status()
        except httpx.HTTPStatusError as error:
            raise exc_class(str(error), response) from error
