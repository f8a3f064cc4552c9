"""Sessions and credentials of the AWS SDK. They use private names of aiobotocore and botocore.

No other module uses such names. pyproject.toml limits the version of aioboto3, which fixes theirs,
and ``tests/test_private_names.py`` fails if a name changes.
"""

import asyncio
import logging
import ssl
import time
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.credentials import (
    AioDeferredRefreshableCredentials,
    AioRefreshableCredentials,
)
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.session import AioSession

from dal.dynamodb.errors import CredentialsExpiredError
from dal.dynamodb.responses import unusable

logger = logging.getLogger(__name__)


REFRESH_EVERY = 30.0
"""Minimum seconds between two attempts to refresh credentials that are still valid."""


REFRESH_SECONDS = 10.0
"""Maximum seconds of one refresh, including the SDK's own retries."""


# Turn off this logger's warnings: it writes a traceback for each failed refresh. LastingCredentials
# logs one line instead.
logging.getLogger("aiobotocore.credentials").setLevel(logging.ERROR)


class VerifiedSession(AioSession):  # type: ignore[misc]
    """A session that verifies TLS in all its clients, including clients that fetch credentials."""

    def create_client(self, *arguments: Any, config: Any = None, **settings: Any) -> Any:
        """Open a client. The HTTP class is set last, because ``Config.merge`` drops it."""
        verified = AioConfig().merge(config or AioConfig())
        verified.http_session_cls = _VerifiedHttp
        return super().create_client(*arguments, config=verified, **settings)

    async def get_credentials(self) -> Any:
        """Return the credentials from the AWS settings; None if there are none.

        Temporary credentials are returned as ``LastingCredentials``.
        """
        found = await super().get_credentials()
        temporary = isinstance(found, AioRefreshableCredentials)
        if temporary and not isinstance(found, LastingCredentials):
            found = self._credentials = LastingCredentials(found)
        return found


class _VerifiedHttp(AIOHTTPSession):  # type: ignore[misc]
    """An HTTP session that verifies every endpoint's certificate and host name.

    aiobotocore's own class does not verify host names. Behind a proxy, or with an empty
    AWS_CA_BUNDLE, it does not verify certificates either. This class returns TLS contexts that
    verify both, and aiobotocore loads the trusted certificate authorities into these contexts.
    """

    def __init__(self, *, verify: Any, **settings: Any) -> None:
        super().__init__(verify=verify or True, **settings)

    def _get_ssl_context(self) -> ssl.SSLContext:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def _setup_proxy_ssl_context(self, _proxy_url: str) -> ssl.SSLContext:
        return self._get_ssl_context()


class LastingCredentials(AioDeferredRefreshableCredentials):  # type: ignore[misc]
    """Temporary credentials that are used until they expire, even if they cannot be refreshed.

    botocore refreshes credentials as part of a request. In the ten minutes before they expire, the
    request fails if the refresh fails. Here a separate task refreshes the credentials. Requests
    wait for this task only after the old credentials have expired.
    """

    def __init__(self, found: AioRefreshableCredentials) -> None:
        self.__dict__.update(vars(found))
        self._refreshing: asyncio.Task[Exception | None] | None = None
        self._next_refresh = 0.0

    async def get_frozen_credentials(self) -> Any:
        """Return the credentials that sign requests; raises DalError if none are valid."""
        if not self.refresh_needed():
            return self._frozen_credentials
        expired = self.refresh_needed(0)
        if expired or time.monotonic() >= self._next_refresh:
            if self._refreshing is None or self._refreshing.done():
                self._refreshing = asyncio.create_task(self._refreshed())
                self._next_refresh = time.monotonic() + REFRESH_EVERY
            if expired and (failure := await asyncio.shield(self._refreshing)) is not None:
                raise self._error(failure) from failure
        return self._frozen_credentials

    async def get_account_id(self) -> Any:
        """Return the id of the AWS account. botocore may use it in the name of an endpoint."""
        return (await self.get_frozen_credentials()).account_id

    async def _refreshed(self) -> Exception | None:
        try:
            async with asyncio.timeout(REFRESH_SECONDS):
                await self._protected_refresh(is_mandatory=True)
        except Exception as error:  # noqa: BLE001 - a provider may raise any error
            if not self.refresh_needed(0):
                logger.warning(
                    "The AWS credentials cannot be refreshed (%s). They are used until they "
                    "expire.",
                    _reason(error),
                )
            return error
        return None

    def _error(self, failure: Exception) -> Exception:
        if self._frozen_credentials is None:
            return unusable(failure)
        return CredentialsExpiredError(
            f"The AWS credentials have expired and cannot be refreshed ({_reason(failure)}): check "
            "where they come from."
        )


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or "no answer"
