"""``python -m tools.conformance``: whether a connection of a server keeps to Relay's rules."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tools.conformance.check import Level
from tools.conformance.endpoint import ConformanceError, Endpoint
from tools.conformance.run import Outcome, failed, outcomes, show, summary
from tools.conformance.session import MOST, PAGE_SIZE, Options, Session, connections, open_session

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

CHANGED = (
    "Others wrote to the list meanwhile: some findings may be theirs. Run again in a quiet time."
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
            help="The fields down to the connection, such as 'product(productId: "
            '"1").comments(rating: 5)\', or a query that ends in it. Leave it out to see '
            "what the server has.",
            show_default=False,
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            help="Send it with every request, such as 'Authorization: Bearer …'; repeat it for "
            "several.",
            show_default=False,
        ),
    ] = None,
    insert: Annotated[
        str | None,
        typer.Option(
            help="A mutation that inserts a row into the list, or @FILE. Each variable gets a new "
            "value every time.",
            show_default=False,
        ),
    ] = None,
    delete: Annotated[
        str | None,
        typer.Option(
            help="A mutation that deletes such a row, or @FILE. Its variables are found by name in "
            "the answer of --insert. Rows of others are left alone.",
            show_default=False,
        ),
    ] = None,
    page_size: Annotated[
        int, typer.Option(min=3, help="Rows of a page while the list is read.")
    ] = PAGE_SIZE,
    most: Annotated[int, typer.Option(min=1, help="The longest list that is read.")] = MOST,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 also where only a 'should' fails.")
    ] = False,
) -> None:
    """Check a connection of any GraphQL server against Relay's specifications.

    The whole list is read first, page by page. Then each check sends requests and compares:
    types, the pagination algorithm with first, after, last and before, order, pageInfo, cursors,
    sizes and cursors at their limits, node and nodes. With --insert and --delete it also reads
    while rows come and go. A check that fails shows the request, and links to the paragraph.

    Exit code 1: a 'must' of the specification fails.
    """
    headers = dict(_header(one) for one in header or [])
    if connection is None:
        raise ConformanceError(asyncio.run(_choice(url, headers)))
    options = Options(
        connection=connection,
        insert=_text(insert),
        delete=_text(delete),
        page_size=page_size,
        most=most,
    )
    found = asyncio.run(_run(url, headers, options))
    levels = list(Level) if strict else [Level.MUST]
    if any(failed(found, level) for level in levels):
        raise typer.Exit(1)


async def _run(url: str, headers: dict[str, str], options: Options) -> list[Outcome]:
    console, found = Console(), list[Outcome]()
    async with Endpoint(url, headers) as endpoint, open_session(endpoint, options) as session:
        async for outcome in outcomes(session):
            found.append(outcome)
            show(console, outcome)
        if await _changed(session, found):
            console.print(CHANGED)
        console.print(summary(found, endpoint.requests))
    return found


async def _changed(session: Session, found: list[Outcome]) -> bool:
    """Return whether other clients wrote, if that could explain the findings."""
    unclear = session.writer is None and any(outcome.findings for outcome in found)
    return unclear and session.fault is None and await session.changed()


async def _choice(url: str, headers: dict[str, str]) -> str:
    """Return a sentence that lists the connections of the schema."""
    async with Endpoint(url, headers) as endpoint:
        known = await connections(endpoint)
    named = ", ".join(known) or "none within three fields of the query type"
    return f"Say which connection with --connection. {url} has: {named}."


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise ConformanceError(
            f"--header {text!r} is not a header such as 'Authorization: Bearer …'."
        )
    return name.strip(), value.strip()


def _text(option: str | None) -> str | None:
    """Return the option, or the content of the file that it names."""
    if option is None or not option.startswith("@"):
        return option
    try:
        return Path(option[1:]).read_text()
    except OSError as error:
        raise ConformanceError(f"{option[1:]} cannot be read: {error.strerror}.") from error


def main() -> None:
    """Run the checks; what keeps them from running is one sentence and exit code 1."""
    try:
        app(prog_name="python -m tools.conformance")
    except ConformanceError as error:
        sys.exit(f"conformance: {' '.join(str(error).split())}")


if __name__ == "__main__":
    main()
