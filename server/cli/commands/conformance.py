"""``marginalia conformance``: whether a connection of any GraphQL server keeps to Relay's rules."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from conformance.check import Level
from conformance.checks import CHECKS
from conformance.endpoint import Endpoint
from conformance.errors import ConformanceError
from conformance.report import CHANGED, as_json, show, summary
from conformance.run import Outcome, failed, outcomes
from conformance.session import MOST, PAGE_SIZE, Options, Session, connections, open_session
from server.errors import CommandError
from server.progress import ProgressBar

HEADER_VARIABLE = "MARGINALIA_HEADER"

_WRITES = "While others write"


def conformance(
    context: typer.Context,
    url: Annotated[
        str, typer.Argument(help="The GraphQL endpoint, such as http://127.0.0.1:8000/graphql.")
    ],
    *,
    connection: Annotated[
        str | None,
        typer.Option(
            envvar="MARGINALIA_CONNECTION",
            help="The fields down to the connection, such as 'product(productId: "
            '"1").comments(rating: 5)\', or a query that ends in it. Leave it out to see '
            "what the server has.",
            show_default=False,
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            envvar=HEADER_VARIABLE,
            help="Send it with every request, such as 'Authorization: Bearer …'; repeat it for "
            "several.",
            show_default=False,
        ),
    ] = None,
    insert: Annotated[
        str | None,
        typer.Option(
            envvar="MARGINALIA_INSERT",
            rich_help_panel=_WRITES,
            help="A mutation that inserts a row into the list, or @FILE. Each of its variables "
            "gets a new value every time: a number for Int, else a text.",
            show_default=False,
        ),
    ] = None,
    delete: Annotated[
        str | None,
        typer.Option(
            envvar="MARGINALIA_DELETE",
            rich_help_panel=_WRITES,
            help="A mutation that deletes such a row, or @FILE. Its variables are found by name in "
            "the answer of --insert. Rows of others are left alone.",
            show_default=False,
        ),
    ] = None,
    page_size: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_PAGE_SIZE", min=3, help="Rows of a page while the list is read."
        ),
    ] = PAGE_SIZE,
    most: Annotated[
        int,
        typer.Option(envvar="MARGINALIA_MOST", min=1, help="The longest list that is read."),
    ] = MOST,
    json: Annotated[
        bool, typer.Option("--json", envvar="MARGINALIA_JSON", help="Print JSON instead.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            envvar="MARGINALIA_STRICT",
            help="Exit with 1 also where only a 'should' fails.",
        ),
    ] = False,
) -> None:
    """Check a connection of any GraphQL server against Relay's specifications.

    The whole list is read first, page by page. Then each check asks for something and compares:
    types, the pagination algorithm with first, after, last and before, order, pageInfo, cursors,
    sizes and cursors at their limits, node and nodes. With --insert and --delete it also reads
    while rows come and go. A check that fails shows the request, and links to the paragraph.

    Exit code 1: a 'must' of the specification fails.
    """
    headers = dict(_header(one) for one in _headers(context, header or []))
    try:
        if connection is None:
            raise CommandError(asyncio.run(_choice(url, headers)))
        options = Options(
            connection=connection,
            insert=_text(insert),
            delete=_text(delete),
            page_size=page_size,
            most=most,
        )
        found = asyncio.run(_run(url, headers, options, as_json_=json))
    except ConformanceError as error:
        raise CommandError(str(error)) from error
    levels = list(Level) if strict else [Level.MUST]
    if any(failed(found, level) for level in levels):
        raise typer.Exit(1)


async def _run(
    url: str, headers: dict[str, str], options: Options, *, as_json_: bool
) -> list[Outcome]:
    console = Console()
    found: list[Outcome] = []
    async with Endpoint(url, headers) as endpoint:
        with ProgressBar("Reading the list", len(CHECKS)) as progress:
            async with open_session(endpoint, options) as session:
                async for outcome in outcomes(session):
                    found.append(outcome)
                    progress.advance(f"{outcome.check.name}, {endpoint.requests:,} requests")
                    if not as_json_:
                        show(console, outcome)
                changed = await _changed(session, found)
        if as_json_:
            typer.echo(as_json(url, found, changed=changed))
        else:
            if changed:
                console.print(CHANGED)
            console.print(summary(found, endpoint.requests))
    return found


async def _changed(session: Session, found: list[Outcome]) -> bool:
    """Return whether somebody else wrote, where that could explain what was found."""
    unclear = session.writer is None and any(outcome.findings for outcome in found)
    return unclear and session.fault is None and await session.changed()


async def _choice(url: str, headers: dict[str, str]) -> str:
    """Return the sentence that says which connections there are."""
    async with Endpoint(url, headers) as endpoint:
        known = await connections(endpoint)
    named = ", ".join(known) or "none within three fields of the query type"
    return f"Say which connection with --connection. {url} has: {named}."


def _headers(context: typer.Context, given: list[str]) -> list[str]:
    """Return the headers; of those in the environment each has a line, for it has spaces."""
    source = context.get_parameter_source("header")
    if source is not None and source.name == "ENVIRONMENT":
        return os.environ[HEADER_VARIABLE].splitlines()
    return given


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise CommandError(f"--header {text!r} is no header such as 'Authorization: Bearer …'.")
    return name.strip(), value.strip()


def _text(option: str | None) -> str | None:
    """Return the option, or the content of the file that it names."""
    if option is None or not option.startswith("@"):
        return option
    try:
        return Path(option[1:]).read_text()
    except OSError as error:
        raise CommandError(f"{option[1:]} cannot be read: {error.strerror}.") from error
