"""The URL that a banner shows."""

import pytest

from server.banner import address


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("2001:db8::7", "http://[2001:db8::7]:8000"),
        ("shop.example", "http://shop.example:8000"),
    ],
)
def test_it_is_one_that_a_browser_opens(host: str, url: str) -> None:
    assert address(host, 8000) == url
