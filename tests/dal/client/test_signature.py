"""Signatures: those of AWS's published test suite, and botocore's own of any request of ours."""

from datetime import UTC, datetime
from unittest.mock import patch

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given
from hypothesis import strategies as st

from dal.client.transport import Credentials
from dal.client.wire import Scope, authorization

EXAMPLE = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
SERVICE = Scope("us-east-1", "service")
INSTANT = ("x-amz-date", "20150830T123600Z")
HOST = ("host", "example.amazonaws.com")
FORM = ("content-type", "application/x-www-form-urlencoded")
UNRESERVED = "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfI"
    "eoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0"
    "wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDry"
    "pNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)

SUITE = {
    "get-vanilla": (
        ("GET", "/", [HOST, INSTANT], b""),
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ),
    "get-unreserved": (
        ("GET", UNRESERVED, [HOST, INSTANT], b""),
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
    ),
    "post-vanilla": (
        ("POST", "/", [HOST, INSTANT], b""),
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
    ),
    "post-header-value-case": (
        ("POST", "/", [HOST, ("my-header1", "VALUE1"), INSTANT], b""),
        "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
    ),
    "post-sts-header-before": (
        ("POST", "/", [HOST, INSTANT, ("x-amz-security-token", TOKEN)], b""),
        "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
    ),
    "post-x-www-form-urlencoded": (
        ("POST", "/", [FORM, HOST, INSTANT], b"Param1=value1"),
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ),
}


@pytest.mark.parametrize(("request_", "signature"), SUITE.values(), ids=SUITE)
def test_the_published_suite(
    request_: tuple[str, str, list[tuple[str, str]], bytes], signature: str
) -> None:
    method, path, headers, body = request_
    names = ";".join(name for name, _ in headers)
    assert authorization(EXAMPLE, SERVICE, method, path, headers, body) == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders={names}, Signature={signature}"
    )


KEYS = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=16, max_size=32)
SECRETS = st.text("abcdefghijklmnopqrstuvwxyz+/ABCDEFGHIJ0123456789", min_size=20, max_size=60)


@given(
    st.builds(Credentials, KEYS, SECRETS, st.none() | SECRETS),
    st.sampled_from(["eu-west-1", "us-east-1", "local"]),
    st.datetimes(datetime(2015, 1, 1), datetime(2099, 1, 1)),  # noqa: DTZ001 - naive, as it asks
    st.sampled_from(["dynamodb.eu-west-1.amazonaws.com", "127.0.0.1:8000"]),
    st.binary(max_size=300),
)
def test_botocore_signs_the_same(
    credentials: Credentials, region: str, moment: datetime, host: str, body: bytes
) -> None:
    headers = [
        ("content-type", "application/x-amz-json-1.0"),
        ("host", host),
        ("x-amz-date", f"{moment:%Y%m%dT%H%M%SZ}"),
        *([("x-amz-security-token", credentials.token)] if credentials.token else []),
        ("x-amz-target", "DynamoDB_20120810.Query"),
    ]
    ours = authorization(credentials, Scope(region, "dynamodb"), "POST", "/", headers, body)
    theirs = AWSRequest(
        "POST",
        f"https://{host}/",
        headers={
            name: value for name, value in headers if name in {"content-type", "x-amz-target"}
        },
        data=body,
    )
    with patch("botocore.auth.get_current_datetime", lambda: moment.replace(tzinfo=UTC)):
        SigV4Auth(BotocoreCredentials(*credentials), "dynamodb", region).add_auth(theirs)
    assert ours == theirs.headers["Authorization"]
