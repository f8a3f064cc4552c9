"""An endpoint that imitates DynamoDB, its streams, STS, SSO and a container's credentials."""

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

Fault = Callable[[], Awaitable[web.Response]]

_ASSUMED = """<{0}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{0}Result>
<AssumedRoleUser><Arn>arn:aws:sts::111122223333:assumed-role/r/s</Arn>
<AssumedRoleId>r:s</AssumedRoleId></AssumedRoleUser>
<Credentials><AccessKeyId>{1}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>
<SessionToken>token</SessionToken><Expiration>{2}</Expiration></Credentials>
</{0}Result></{0}Response>"""


@dataclass
class AwsEndpoint:
    """An endpoint that counts its requests. Its access keys are valid for ``seconds``."""

    url: str = ""
    requests: int = 0
    keys: int = 0
    seconds: float = 3600
    fault: Fault | None = None
    """Replaces the responses to requests for access keys."""
    signed: list[str] = field(default_factory=list)
    """The Authorization header of each request."""

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def answer(self, request: web.Request) -> web.Response:
        self.requests += 1
        self.signed.append(request.headers.get("Authorization", ""))
        operation = request.headers.get("X-Amz-Target", "").rpartition(".")[2]
        if operation:
            capacity = {"TableName": "any", "CapacityUnits": 0.5}
            return web.json_response({"ConsumedCapacity": capacity, "Streams": []})
        if self.fault is not None:
            return await self.fault()
        self.keys += 1
        end = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=self.seconds)
        if request.method == "GET":
            of_sso = {
                "accessKeyId": f"key-{self.keys}",
                "secretAccessKey": "secret",
                "sessionToken": "token",
                "expiration": int(end.timestamp() * 1000),
            }
            of_a_container = {
                "AccessKeyId": f"key-{self.keys}",
                "SecretAccessKey": "secret",
                "Token": "token",
                "Expiration": end.isoformat(),
            }
            return web.json_response({"roleCredentials": of_sso, **of_a_container})
        action = (await request.post())["Action"]
        text = _ASSUMED.format(action, f"key-{self.keys}", end.strftime("%Y-%m-%dT%H:%M:%SZ"))
        return web.Response(text=text, content_type="text/xml")


@asynccontextmanager
async def aws_endpoint(tls: ssl.SSLContext | None = None) -> AsyncIterator[AwsEndpoint]:
    """Run an endpoint on a free port of this machine."""
    endpoint = AwsEndpoint()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", endpoint.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        scheme = "http" if tls is None else "https"
        endpoint.url = f"{scheme}://127.0.0.1:{runner.addresses[0][1]}"
        yield endpoint
    finally:
        await runner.cleanup()


async def refuse() -> web.Response:
    return web.Response(status=500)


async def hang() -> web.Response:
    await asyncio.Event().wait()
    raise AssertionError
