"""The text that a server prints once it listens."""

from server.auth.authenticator import DEMO_LIFETIME, DEMO_USER, make_token
from server.settings import Settings

_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - addresses for a browser instead


def address(host: str, port: int) -> str:
    """Return the URL that a browser on this machine opens."""
    host = _WILDCARDS.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def banner(
    settings: Settings, *, url: str, place: str, secret: str | None, metrics: str | None = None
) -> str:
    """Return the addresses to open and, for demo data, a header that allows to write."""
    lines = [
        "",
        f"  Pages     {url}/  (open them in a browser)",
        f"  GraphiQL  {url}/graphql",
        f"  GraphQL   POST {url}/graphql",
        f"  Data      {place}",
    ]
    if metrics is not None:
        lines.append(f"  Metrics   {metrics}")
    if settings.demo and secret is not None:
        encoded = make_token(secret, username=DEMO_USER, roles=[], lifetime=DEMO_LIFETIME)
        lines += [
            "",
            f'  This header lets you write as user "{DEMO_USER}" for {DEMO_LIFETIME.days} days;',
            '  the pages take it under "Sign in", GraphiQL in its tab "Headers":',
            "",
            f'  {{"Authorization": "Bearer {encoded}"}}',
        ]
    return "\n".join([*lines, "", "  Ctrl-C stops the server.", ""])
