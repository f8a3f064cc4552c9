"""A page ends with the deadline of its request."""

import httpx

from tests.proxy import Proxy, always, hang
from tests.server.test_deadline import beyond, brief, client, proxy

__all__ = ["beyond", "brief", "client", "proxy"]


async def test_an_html_page_ends_with_the_deadline_too(
    client: httpx.AsyncClient, proxy: Proxy
) -> None:
    proxy.choose = always(hang)
    shown = await client.get("/products/42", headers={"Accept": "text/html"})
    assert (shown.status_code, "Traceback" in shown.text) == (503, False)
