"""``python -m tools.conformance``: check a connection against Relay's specifications."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tools.conformance.check import Level
from tools.conformance.checks import CHECKS
from tools.conformance.endpoint import ConformanceError, Endpoint
from tools.conformance.run import Outcome, failed, outcome_of, show, summary
from tools.conformance.session import MOST, PAGE_SIZE, open_session
from tools.conformance.shape import read_schema, suggestions

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

CHANGED = (
    "Other clients wrote to the list during the run and may have caused some of the failures. Run "
    "the checks again while no other client writes."
)


@app.command()
def conformance(
    url: Annotated[
        str, typer.Argument(help="The GraphQL endpoint, such as http://127.0.0.1:8000/graphql.")
    ],
    *,
    connection: Annotated[
        str | None,
        typer.Option(
            help="Path of fields to the connection, such as 'product(productId: "
            '"1").comments(rating: 5)\', or a query whose only leaf is the connection. '
            "Leave it out to list the connections of the server.",
            show_default=False,
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            help="Header of every request, such as 'Authorization: Bearer …'. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    insert: Annotated[
        str | None,
        typer.Option(
            help="Mutation that inserts a row into the list, or @FILE. Each insert gives every "
            "variable a new value.",
            show_default=False,
        ),
    ] = None,
    delete: Annotated[
        str | None,
        typer.Option(
            help="Mutation that deletes an inserted row, or @FILE. Each variable gets the value of "
            "the field with the same name in the response of --insert. No other rows are deleted.",
            show_default=False,
        ),
    ] = None,
    page_size: Annotated[
        int,
        typer.Option(
            min=3, help="Rows per page when reading the list. The server must allow this size."
        ),
    ] = PAGE_SIZE,
    most: Annotated[
        int,
        typer.Option(min=1, help="Maximum number of rows in the list. Longer lists are refused."),
    ] = MOST,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Also exit with 1 if a check of the level 'should' fails."),
    ] = False,
) -> None:
    """Check a connection of any GraphQL server against Relay's specifications.

    The command first reads the whole list, page by page. Then it checks the types, the order,
    pageInfo, the cursors, invalid page sizes and cursors, node and nodes, and pages by the
    arguments first, after, last and before. With --insert and --delete it also reads pages during
    writes. For a failed check, the command prints the request and a link to the paragraph of the
    specification.

    Exit code 1: a check of the level 'must' fails.
    """
    headers = dict(_header(one) for one in header or [])
    if connection is None:
        raise ConformanceError(asyncio.run(_choice(url, headers)))
    texts = {"insert": _text(insert), "delete": _text(delete)}

    async def run() -> list[Outcome]:
        console, found = Console(), list[Outcome]()
        async with (
            Endpoint(url, headers) as endpoint,
            open_session(endpoint, connection, **texts, page_size=page_size, most=most) as session,
        ):
            for check in CHECKS:
                found.append(await outcome_of(session, check))
                show(console, found[-1])
            # If a check failed although the checks write nothing, other clients may have changed
            # the list.
            unclear = session.writer is None and any(outcome.findings for outcome in found)
            if unclear and session.fault is None and await session.changed():
                console.print(CHANGED)
            console.print(summary(found, endpoint.requests))
        return found

    found = asyncio.run(run())
    if any(failed(found, level) for level in (Level if strict else [Level.MUST])):
        raise typer.Exit(1)


async def _choice(url: str, headers: dict[str, str]) -> str:
    """Return an error message that lists the connections of the schema."""
    async with Endpoint(url, headers) as endpoint:
        known = suggestions(await read_schema(endpoint))
    named = ", ".join(known) or "none in paths of up to three fields"
    return f"Choose a connection with --connection. {url} has: {named}."


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise ConformanceError(
            f"--header {text!r} is not a header: write it as 'Authorization: Bearer …'."
        )
    return name.strip(), value.strip()


def _text(option: str | None) -> str | None:
    """Return the option's value, or the content of the file in ``@FILE``."""
    if option is None or not option.startswith("@"):
        return option
    try:
        return Path(option[1:]).read_text()
    except OSError as error:
        raise ConformanceError(f"{option[1:]} cannot be read: {error.strerror}.") from error


def main() -> None:
    """Run the checks. Print a ConformanceError as one sentence and exit with 1."""
    try:
        app(prog_name="python -m tools.conformance")
    except ConformanceError as error:
        sys.exit(f"conformance: {' '.join(str(error).split())}")


if __name__ == "__main__":
    main()
