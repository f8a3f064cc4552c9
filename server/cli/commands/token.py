"""``marginalia token``: a JWT for a user of one's own server."""

import re
from datetime import timedelta
from typing import Annotated

import typer

from dal.model import rules
from server.auth.authenticator import make_token
from server.auth.secret import ensure_secret, secret_source
from server.cli import options

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_lifetime(text: str) -> timedelta:
    """Return what ``90s``, ``30m``, ``12h`` or ``7d`` stand for; BadParameter for other texts."""
    match = re.fullmatch(r"([1-9][0-9]{0,4})([smhd])", text)
    if match is None:
        raise typer.BadParameter("give a number and a unit, such as 30m, 12h or 7d.")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def token(
    *,
    user: Annotated[
        str,
        typer.Option("--user", envvar="MARGINALIA_USER", help="The name that comments will carry."),
    ],
    role: Annotated[
        list[str] | None,
        typer.Option(
            "--role",
            envvar="MARGINALIA_ROLE",
            help="What the user may do besides, such as moderator; repeatable.",
            show_default=False,
        ),
    ] = None,
    lifetime: Annotated[
        timedelta,
        typer.Option(
            parser=parse_lifetime,
            metavar="DURATION",
            envvar="MARGINALIA_LIFETIME",
            help="How long it is valid: 30m, 12h, 7d.",
        ),
    ] = "1d",  # type: ignore[assignment]  # Typer parses the default as it does the option
    data_dir: options.DataDir = options.DEFAULTS.data_dir,
    jwt_secret: options.JwtSecret = None,
) -> None:
    """Print a JWT that names a user, for the header 'Authorization: Bearer <JWT>'.

    It is signed with MARGINALIA_JWT_SECRET, or else with the secret that the
    data directory keeps; one is made where there is none.
    """
    username = rules.identifier("user", user)
    secret = secret_source(jwt_secret, data_dir)() or ensure_secret(data_dir)
    typer.echo(make_token(secret, username=username, roles=role or [], lifetime=lifetime))
