"""The AWS SDK: every operation of DynamoDB and its streams, and the settings of this machine.

The only module that calls it. botocore's own retries are off, so that there is one policy.
"""

import asyncio
import logging
import os
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import aioboto3
from aiobotocore.config import AioConfig
from aiobotocore.credentials import (
    AioDeferredRefreshableCredentials,
    AioRefreshableCredentials,
)
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.session import AioSession
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.httpsession import get_cert_path
from botocore.utils import get_environ_proxies

from dal.client.answers import check_answer
from dal.client.connections import CONNECT_SECONDS
from dal.client.embedded import EMBEDDED, LOCAL
from dal.client.error_codes import dal_error, unreachable, unusable
from dal.client.gate import CONNECTIONS
from dal.client.retries import DEADLINE
from dal.client.signature import Credentials
from dal.errors import CredentialsExpiredError

logger = logging.getLogger(__name__)

REFRESH_EVERY = 30.0
"""Seconds between two requests for new credentials while the present ones are good."""

REFRESH_SECONDS = 10.0
"""The limit of one such request, the attempts of the SDK included."""

# It logs a traceback for each refresh that fails, where LastingCredentials logs a line.
logging.getLogger("aiobotocore.credentials").setLevel(logging.ERROR)


class AwsSdk:
    """The ``Sdk`` of one service of AWS."""

    def __init__(self, client: Any, session: Any, credentials: Any, *, has_capacity: bool) -> None:
        self._client = client
        self._session = session
        self._credentials = credentials
        self.endpoint_url: str = client.meta.endpoint_url
        self.region: str = client.meta.region_name
        self.has_capacity = has_capacity

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do an operation; raises DalError."""
        try:
            answer: dict[str, Any] = await getattr(self._client, operation)(**arguments)
        except ClientError as error:
            raise dal_error(error.response) from error
        except (BotoConnectionError, HTTPClientError) as error:
            raise unreachable(self.endpoint_url, error) from error
        except BotoCoreError as error:
            raise unusable(error) from error
        return answer

    async def credentials(self) -> Credentials:
        """Return what requests are signed with now; raises DalError once it has expired."""
        found = await self._credentials.get_frozen_credentials()
        return Credentials(found.access_key, found.secret_key, found.token)

    @property
    def has_credentials(self) -> bool:
        """Whether there are any; without them each call says so."""
        return self._credentials is not None

    @property
    def has_proxy(self) -> bool:
        """Whether the settings put a proxy before the endpoint."""
        proxies = self._client.meta.config.proxies
        if proxies is None:
            proxies = get_environ_proxies(self.endpoint_url)
        return urlsplit(self.endpoint_url).scheme in proxies

    @property
    def certificates(self) -> str:
        """The file of the authorities that may vouch for the endpoint."""
        bundle = self._session.get_config_variable("ca_bundle")
        path: str = get_cert_path(bundle or os.environ.get("REQUESTS_CA_BUNDLE") or True)
        return path


@asynccontextmanager
async def open_sdk(
    service: str, endpoint_url: str | None, *, embedded: bool, **settings: Any
) -> AsyncIterator[AwsSdk]:
    """Open the SDK's client of a service, by the usual AWS settings unless it is ``embedded``."""
    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=DEADLINE,
        max_pool_connections=CONNECTIONS,
        **({"proxies": {}} if embedded else {}),
        **settings,
    )
    botocore, session = _embedded_session() if embedded else _session()
    client = session.client(service, endpoint_url=endpoint_url, config=config)
    async with AsyncExitStack() as stack:
        try:
            opened = await stack.enter_async_context(client)
            credentials = await session.get_credentials()
        except (BotoCoreError, ValueError) as error:
            raise unusable(error) from error
        name = opened.meta.service_model.service_id.hyphenize()
        has_capacity = embedded or endpoint_url is None
        check = partial(check_answer, has_capacity=has_capacity)
        opened.meta.events.register(f"before-parse.{name}", check)
        yield AwsSdk(opened, botocore, credentials, has_capacity=has_capacity)


def _session() -> tuple[Any, aioboto3.Session]:
    session = _VerifiedSession()
    return session, aioboto3.Session(botocore_session=session)


def _embedded_session() -> tuple[Any, aioboto3.Session]:
    """An engine on this machine depends on no profile or settings file of its surroundings."""
    nothing: tuple[Any, ...] = (None, [], os.devnull, None)
    session = _VerifiedSession(
        {"profile": (None, [], None, None), "config_file": nothing, "credentials_file": nothing}
    )
    return session, aioboto3.Session(
        botocore_session=session,
        region_name=LOCAL,
        aws_access_key_id=EMBEDDED.access_key,
        aws_secret_access_key=EMBEDDED.secret_key,
    )


class _VerifiedSession(AioSession):  # type: ignore[misc]
    """A session that verifies TLS in all its clients, those for credentials included."""

    def create_client(self, *arguments: Any, config: Any = None, **settings: Any) -> Any:
        """Open a client; a merge drops the class of HTTP sessions, so it is set afterwards."""
        verified = AioConfig().merge(config or AioConfig())
        verified.http_session_cls = _VerifiedHttp
        return super().create_client(*arguments, config=verified, **settings)

    async def get_credentials(self) -> Any:
        """Return the credentials of the settings; None where there are none."""
        found = await super().get_credentials()
        temporary = isinstance(found, AioRefreshableCredentials)
        if temporary and not isinstance(found, LastingCredentials):
            found = self._credentials = LastingCredentials(found)
        return found


class _VerifiedHttp(AIOHTTPSession):  # type: ignore[misc]
    """HTTP that verifies the certificate and the host name of every endpoint.

    aiobotocore's class checks no host name, behind a proxy no certificate, and with an empty
    AWS_CA_BUNDLE neither. It loads the authorities into the contexts that are made here.
    """

    def __init__(self, *, verify: Any, **settings: Any) -> None:
        super().__init__(verify=verify or True, **settings)

    def _get_ssl_context(self) -> ssl.SSLContext:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def _setup_proxy_ssl_context(self, _proxy_url: str) -> ssl.SSLContext:
        return self._get_ssl_context()


class LastingCredentials(AioDeferredRefreshableCredentials):  # type: ignore[misc]
    """Temporary credentials that are used until they expire, also while their endpoint is down.

    botocore refreshes within a request; in the last ten minutes a failed refresh fails the request.
    Here a task refreshes, and requests wait for the task only without valid credentials.
    """

    def __init__(self, found: AioRefreshableCredentials) -> None:
        self.__dict__.update(vars(found))
        self._refreshing: asyncio.Task[Exception | None] | None = None
        self._next_refresh = 0.0

    async def get_frozen_credentials(self) -> Any:
        """Return what requests are signed with; raises DalError without good credentials."""
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
        """Return the account, which botocore may put into the name of an endpoint."""
        return (await self.get_frozen_credentials()).account_id

    async def _refreshed(self) -> Exception | None:
        try:
            async with asyncio.timeout(REFRESH_SECONDS):
                await self._protected_refresh(is_mandatory=True)
        except Exception as error:  # noqa: BLE001 - providers run programs and read files
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
