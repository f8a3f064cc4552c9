"""The AWS SDK: every operation of DynamoDB and its streams, and the settings of this machine.

The only module that calls it. botocore's own retries are off, so that there is one policy.
"""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import aioboto3
from aiobotocore.session import get_session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.httpsession import get_cert_path
from botocore.utils import get_environ_proxies

from dal.table.answers import check_answer
from dal.table.connections import CONNECT_SECONDS
from dal.table.embedded import EMBEDDED, LOCAL
from dal.table.error_codes import dal_error, unreachable, unusable
from dal.table.gate import CONNECTIONS
from dal.table.retries import DEADLINE
from dal.table.signature import Credentials


class AwsSdk:
    """The ``Sdk`` of one service of AWS."""

    def __init__(self, client: Any, session: Any, credentials: Any) -> None:
        self._client = client
        self._session = session
        self._credentials = credentials
        self.endpoint_url: str = client.meta.endpoint_url
        self.region: str = client.meta.region_name

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do an operation; raises DalError."""
        try:
            answer: dict[str, Any] = await getattr(self._client, operation)(**arguments)
        except ClientError as error:
            raise dal_error(error.response) from error
        except (BotoConnectionError, HTTPClientError) as error:
            raise unreachable(self.endpoint_url) from error
        except BotoCoreError as error:
            raise unusable(error) from error
        return answer

    async def credentials(self) -> Credentials:
        """Return what requests are signed with now; taken anew before it expires."""
        try:
            found = await self._credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise unusable(error) from error
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
        if service == "dynamodb":
            opened.meta.events.register("before-parse.dynamodb", check_answer)
        yield AwsSdk(opened, botocore, credentials)


def _session() -> tuple[Any, aioboto3.Session]:
    session = get_session()
    return session, aioboto3.Session(botocore_session=session)


def _embedded_session() -> tuple[Any, aioboto3.Session]:
    """An engine on this machine depends on no profile or settings file of its surroundings."""
    nothing: tuple[Any, ...] = (None, [], os.devnull, None)
    session = get_session(
        {"profile": (None, [], None, None), "config_file": nothing, "credentials_file": nothing}
    )
    return session, aioboto3.Session(
        botocore_session=session,
        region_name=LOCAL,
        aws_access_key_id=EMBEDDED.access_key,
        aws_secret_access_key=EMBEDDED.secret_key,
    )
