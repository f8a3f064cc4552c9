"""``marginalia token``: prints a JWT. Servers that have the signing secret accept the JWT."""

import re
from datetime import timedelta
from typing import Annotated

import typer

from dal.model import own_ids, rules
from server.auth.authenticator import make_token
from server.auth.secret import ensure_secret, secret_source
from server.cli.options import takes
from server.local_engine.data_directory import DataDirectory
from server.settings import Settings

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_lifetime(text: str) -> timedelta:
    """Return the duration in a text such as ``30m``, ``12h`` or ``7d``.

    Raise BadParameter if the text is invalid.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,4})([smhd])", text)
    if match is None:
        raise typer.BadParameter("give a number and a unit, such as 30m, 12h or 7d.")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


@takes("data_dir", "jwt_secret")
def token(
    *,
    user: Annotated[
        str, typer.Option(help="Id of the user. The user's comments belong to this id.")
    ],
    name: Annotated[
        str | None, typer.Option(help="Display name in the user's comments. Default: the id.")
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(
            help="Role that gives the user more rights, such as moderator. Repeatable.",
            show_default=False,
        ),
    ] = None,
    lifetime: Annotated[
        timedelta,
        typer.Option(
            parser=parse_lifetime,
            metavar="DURATION",
            help="Time until the JWT expires, such as 90s, 30m, 12h or 7d.",
        ),
    ] = "1d",  # type: ignore[assignment]  # Typer parses the default like a given value.
    settings: Settings,
) -> None:
    """Print a JWT that names a user, for the header 'Authorization: Bearer <JWT>'.

    The secret of --jwt-secret signs the JWT. Without this option, the secret in the server's data
    directory signs it. If the directory has data but no secret, the command creates a secret.
    """
    user_id = own_ids.account("user", user)
    shown = None if name is None else rules.name("name", name)
    secret = secret_source(settings.jwt_secret, settings.data_dir)()
    # A directory without data is not the server's directory. The server has another secret, and
    # would refuse a JWT that is signed with a secret created here. So require data first.
    if secret is None:
        DataDirectory(settings.data_dir).require_data(
            "set MARGINALIA_JWT_SECRET to the server's secret"
        )
        secret = ensure_secret(settings.data_dir)
    typer.echo(make_token(secret, user=user_id, name=shown, roles=role or [], lifetime=lifetime))
