"""The AWS SDK: sends requests to DynamoDB and S3, and reads this machine's AWS settings.

No other module imports the SDK. For DynamoDB, botocore's own retries are off, because the module
``retries`` retries requests.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from inspect import iscoroutine
from typing import Any
from urllib.parse import urlsplit

from botocore.config import Config
from botocore.credentials import EnvProvider
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoRegionError
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.httpsession import get_cert_path
from botocore.session import Session
from botocore.utils import (
    get_environ_proxies,
    is_valid_endpoint_url,
    is_valid_ipv6_endpoint_url,
    validate_region_name,
)

from dal.dynamodb.concurrency import once
from dal.dynamodb.connection_pool import CONNECT_SECONDS
from dal.dynamodb.errors import StoreUnavailableError
from dal.dynamodb.gate import CONNECTIONS
from dal.dynamodb.responses import Responses, dal_error, unreachable, unusable
from dal.dynamodb.retries import DEADLINE
from dal.dynamodb.wire import EMBEDDED_CREDENTIALS, EMBEDDED_REGION, Credentials
from dal.table.errors import StoreRefusedError

# botocore reads AWS_DEFAULT_REGION only. Other AWS SDKs read AWS_REGION, so the operator may have
# set only that variable.
_NO_REGION = (
    "No AWS region is set: set AWS_DEFAULT_REGION to the table's region, such as eu-west-1 "
    "(AWS_REGION is not read). For an endpoint outside of AWS, any region works."
)


_MISSING = {403, 404}
"""The HTTP statuses that S3 returns for a missing file."""


class AwsSdk:
    """Implements ``Sdk`` for one AWS service."""

    def __init__(
        self,
        endpoint_url: str,
        session: Session,
        credentials: Any,
        responses: Responses,
        client: Callable[[], Awaitable[Any]],
    ) -> None:
        self._client = client
        self._credentials = credentials
        self.endpoint_url = endpoint_url
        # A request to the FIPS endpoint fips-us-east-1 is signed for the region us-east-1.
        region: str = session.get_config_variable("region")
        self.region = region.replace("fips-", "").replace("-fips", "")
        self.responses = responses
        proxies = get_environ_proxies(endpoint_url)
        self.required = credentials is None or urlsplit(endpoint_url).scheme in proxies
        bundle = session.get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE")
        self.certificates: str | None = get_cert_path(bundle or True)

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Send an operation; raises DalError."""
        client = await self._client()
        try:
            response: dict[str, Any] = await getattr(client, operation)(**arguments)
        except ClientError as error:
            raise dal_error(error.response) from error
        except (BotoConnectionError, HTTPClientError) as error:
            raise unreachable(self.endpoint_url, error) from error
        except BotoCoreError as error:
            raise unusable(error) from error
        return response

    async def credentials(self) -> Credentials:
        """Return the current credentials.

        Raises DalError if they have expired and cannot be refreshed.
        """
        found = self._credentials.get_frozen_credentials()
        if iscoroutine(found):
            found = await found
        return Credentials(found.access_key, found.secret_key, found.token)


@asynccontextmanager
async def open_sdk(
    service: str, endpoint_url: str | None, *, embedded: bool, **settings: Any
) -> AsyncIterator[AwsSdk]:
    """Open the SDK for an AWS service.

    If ``embedded`` is true, the SDK has fixed settings. Otherwise it has this machine's AWS
    settings. Raises StoreRefusedError if these settings do not work.
    """
    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=DEADLINE,
        max_pool_connections=CONNECTIONS,
        **({"proxies": {}} if embedded else {}),
        **settings,
    )
    # Amazon and the embedded engine report the consumed capacity of every operation.
    responses = Responses(has_capacity=embedded or endpoint_url is None)
    async with AsyncExitStack() as stack:

        @once
        async def client() -> Any:
            # Import and client take 0.2 s and 25 MB, and few servers send operations through it.
            import aioboto3  # noqa: PLC0415

            with _refused():
                aws = aioboto3.Session(botocore_session=asynchronous or _session(embedded=embedded))
                opening = aws.client(service, endpoint_url=endpoint_url, config=config)
                opened = await stack.enter_async_context(opening)
            name = opened.meta.service_model.service_id.hyphenize()
            opened.meta.events.register(f"before-parse.{name}", responses.check_sdk_response)
            return opened

        with _refused():
            # botocore prefers credentials in environment variables to all others. To read them, it
            # needs no HTTP client, whose import would take 0.1 s and 10 MB. ``VerifiedSession``
            # reads credentials that expire, so that ``LastingCredentials`` refreshes them.
            session, asynchronous = Session(), None
            fixed = not (embedded or os.environ.get(EnvProvider.EXPIRY_TIME))
            credentials = EnvProvider().load() if fixed else None
            if credentials is None:
                asynchronous = _session(embedded=embedded)
                credentials = await asynchronous.get_credentials()
            used = asynchronous or session
            _check(used, endpoint_url)
            found = endpoint_url or _amazons_endpoint(session, service, config)
            sdk = AwsSdk(found, used, credentials, responses, client)
        yield sdk


def _amazons_endpoint(session: Session, service: str, config: Config) -> str:
    """Return the endpoint URL by the AWS settings.

    A client of botocore finds it without a request, and without the import of aiohttp. With other
    credentials than fixed ones, the client could request those of a role, and block the event loop.
    """
    access_key, secret_key, _ = EMBEDDED_CREDENTIALS
    client = session.create_client(
        service, config=config, aws_access_key_id=access_key, aws_secret_access_key=secret_key
    )
    return str(client.meta.endpoint_url)


def _check(session: Session, endpoint_url: str | None) -> None:
    """Raise an error if the profile, the region or the endpoint's URL is invalid.

    The client, which checks further settings, is opened later or never.
    """
    session.get_scoped_config()  # raises an error if the profile does not exist
    region = session.get_config_variable("region")
    if region is None:
        raise NoRegionError
    validate_region_name(region)
    if endpoint_url is not None and not (
        is_valid_endpoint_url(endpoint_url) or is_valid_ipv6_endpoint_url(endpoint_url)
    ):
        raise ValueError(f"Invalid endpoint: {endpoint_url}")


@contextmanager
def _refused() -> Iterator[None]:
    """Raise the errors of invalid AWS settings as StoreRefusedError."""
    try:
        yield
    except NoRegionError:
        raise StoreRefusedError(_NO_REGION) from None
    except (BotoCoreError, ValueError) as error:
        raise unusable(error) from error


def _session(*, embedded: bool) -> Any:
    """Return a session that sends requests: with fixed settings, or with this machine's."""
    from dal.dynamodb.botocore_door import VerifiedSession  # noqa: PLC0415 - imports aiohttp

    if not embedded:
        return VerifiedSession()
    # Read no AWS profile and no settings file of this machine, because invalid settings must not
    # affect the embedded engine.
    nothing: tuple[Any, ...] = (None, [], os.devnull, None)
    session = VerifiedSession(
        {"profile": (None, [], None, None), "config_file": nothing, "credentials_file": nothing}
    )
    session.set_config_variable("region", EMBEDDED_REGION)
    session.set_credentials(EMBEDDED_CREDENTIALS.access_key, EMBEDDED_CREDENTIALS.secret_key)
    return session


class S3:
    """The client of one S3 bucket: signs upload forms, reads files' ETags, and copies files."""

    def __init__(self, client: Any, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    async def upload_form(
        self, key: str, content_type: str, largest: int, seconds: int
    ) -> tuple[str, dict[str, str]]:
        """Return the URL and the fields of a form that uploads one file.

        S3 refuses an upload with another key or content type, an empty file, a file of more than
        ``largest`` bytes, and every upload after ``seconds``. This method signs the form and sends
        no request.
        """
        fields = {"Content-Type": content_type}
        conditions = [fields, ["content-length-range", 1, largest]]
        try:
            form = await self._client.generate_presigned_post(
                self._bucket, key, Fields=dict(fields), Conditions=conditions, ExpiresIn=seconds
            )
        except BotoCoreError as error:
            raise unusable(error) from error
        return form["url"], form["fields"]

    async def tag(self, key: str) -> str | None:
        """Return the ETag of a file; None if the file is missing.

        Raises StoreUnavailableError if the bucket cannot be used.
        """
        try:
            found = await self._client.head_object(Bucket=self._bucket, Key=key)
        except ClientError as error:
            # If the server may not list the bucket, S3 answers 403 for a missing file. So a file
            # that the server may not read counts as missing, too.
            if error.response["ResponseMetadata"]["HTTPStatusCode"] in _MISSING:
                return None
            raise self._failure(error) from error
        except (BotoCoreError, HTTPClientError) as error:
            raise self._failure(error) from error
        return str(found["ETag"]).strip('"')

    async def copy(self, source: str, tag: str, target: str) -> bool:
        """Copy a file. Return False if ``source`` is missing or no longer has the ETag ``tag``.

        Raises StoreUnavailableError if the bucket cannot be used.
        """
        try:
            await self._client.copy_object(
                Bucket=self._bucket,
                Key=target,
                CopySource={"Bucket": self._bucket, "Key": source},
                CopySourceIfMatch=tag,
            )
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] in {*_MISSING, 412}:
                return False
            raise self._failure(error) from error
        except (BotoCoreError, HTTPClientError) as error:
            raise self._failure(error) from error
        return True

    def _failure(self, error: Exception) -> StoreUnavailableError:
        return StoreUnavailableError(
            f"The bucket {self._bucket} cannot be used ({error}): check its name, region and "
            "permissions."
        )


@asynccontextmanager
async def open_s3(bucket: str) -> AsyncIterator[S3]:
    """Open the SDK's client of an S3 bucket with this machine's AWS settings."""
    # With the virtual addressing style, a form's URL has the host of the bucket's region. Otherwise
    # the URL would have S3's global host, which redirects browsers.
    config = Config(
        retries={"total_max_attempts": 2, "mode": "standard"},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=DEADLINE,
        signature_version="s3v4",
        s3={"addressing_style": "virtual"},
    )
    import aioboto3  # noqa: PLC0415 - as in open_sdk

    async with AsyncExitStack() as stack:
        with _refused():
            session = aioboto3.Session(botocore_session=_session(embedded=False))
            client = await stack.enter_async_context(session.client("s3", config=config))
        yield S3(client, bucket)
