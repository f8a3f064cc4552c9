"""``marginalia documents price``: prints the maximum cost of operations, and enforces a budget."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer
from graphql import GraphQLError
from rich.table import Table as Grid

from features.trusted_documents.document_files import read_documents
from features.trusted_documents.documents import message_of
from features.trusted_documents.pricing import READ_PRICE, PricedOperation, priced
from schema.build import build_schema
from schema.execution.executable_schema import ExecutableSchema
from server.cli.console import console
from server.errors import DIFFERS, CommandError


def price(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Manifests from Relay or Apollo, or GraphQL files (.graphql, .gql).",
            show_default=False,
        ),
    ],
    *,
    max_rcu: Annotated[
        float | None,
        typer.Option(min=0, help="Maximum RCU of an operation, with cold caches."),
    ] = None,
    max_usd: Annotated[
        float | None,
        typer.Option(
            min=0, help="Maximum price of a million calls of an operation, with cold caches."
        ),
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            help="An older manifest or GraphQL file. An operation may not cost more RCU than the "
            "older operation with its name. Repeatable."
        ),
    ] = None,
    max_increase: Annotated[
        float,
        typer.Option(min=0, help="Percent by which an operation may exceed its --against RCU."),
    ] = 0,
    variables: Annotated[
        str | None,
        typer.Option(
            help="Values of variables, as a JSON object or a file with one. All other variables "
            "have the dearest values that their types allow."
        ),
    ] = None,
    read_price: Annotated[
        float,
        typer.Option(
            min=0, help="Price of a million read units in USD. Default on demand in us-east-1."
        ),
    ] = READ_PRICE,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print what each operation of the documents costs at most, per call and per million calls.

    The figures are the server's own predictions, with warm and with cold caches. The command reads
    no table. The exit code is 1 if an operation exceeds --max-rcu or --max-usd, or costs more than
    in --against.
    """
    schema = build_schema(explain=True)
    values = _variables(variables)
    found, invalid = _all_priced(schema, files, values)
    if invalid:
        sentences = (f"Document {one!r} cannot be priced: {fault}" for one, fault in invalid)
        raise CommandError(" ".join(sentences))
    if not found:
        raise CommandError(
            f"{', '.join(map(str, files))}: no operation found. Name a file that has one."
        )
    if unused := values.keys() - {name for one in found for name in one.variables}:
        raise CommandError(f"No operation has the variable ${min(unused)}: see --variables.")
    older_operations, invalid = _all_priced(schema, against or [], values)
    for document_id, fault in invalid:  # an older document may no longer fit the schema
        typer.echo(f"marginalia: Document {document_id!r} is not compared: {fault}", err=True)
    older: dict[tuple[str, str], float] = {}
    for one in older_operations:  # of operations with one name, the dearest counts
        older[one.key] = max(older.get(one.key, 0), one.cold["rcu"])
    dearer = {
        f"{_named(one)} costs {one.cold['rcu']:,g} RCU, but {before:,g} RCU in --against.": (
            one.cold["rcu"] > before * (1 + max_increase / 100)
        )
        for one in found
        if (before := older.get(one.key, inf)) < one.cold["rcu"]
    }
    if as_json:
        shown = [_json(one, read_price, older.get(one.key)) for one in found]
        report = {"readPrice": read_price, "operations": shown}
        typer.echo(json.dumps(report, indent=2))
    else:
        console().print(_grid(found, read_price))
        for note in (*_notes(found), *dearer):
            typer.echo(note)
    faults = [*_over_budget(found, read_price, max_rcu, max_usd)]
    faults += [sentence for sentence, fails in dearer.items() if fails]
    if faults:
        raise CommandError(" ".join(faults), DIFFERS)


def _variables(text: str | None) -> Mapping[str, Any]:
    """Return the variables in a JSON object, or in a file with one."""
    if text is None:
        return {}
    try:
        values = json.loads(text if text.startswith("{") else Path(text).read_text("utf-8"))
    except OSError as error:
        raise CommandError(f"--variables: {text} cannot be read: {error.strerror}.") from error
    except (RecursionError, ValueError) as error:
        raise CommandError(f"--variables: {text[:300]} is not valid JSON: {error}.") from error
    if not isinstance(values, dict):
        raise CommandError(f"--variables: {text} must be a JSON object with a value for each name.")
    return values


def _all_priced(
    schema: ExecutableSchema, files: Sequence[Path], values: Mapping[str, Any]
) -> tuple[list[PricedOperation], list[tuple[str, str]]]:
    """Return the operations of all documents, and the id and the error of each invalid document."""
    found: list[PricedOperation] = []
    faults = []
    for document_id, text in read_documents(files):
        try:
            found += priced(schema, document_id, text, values)
        except GraphQLError as error:
            faults.append((document_id, message_of(error)))
    return found, faults


def _over_budget(
    found: Iterable[PricedOperation],
    read_price: float,
    max_rcu: float | None,
    max_usd: float | None,
) -> Iterator[str]:
    """Yield a sentence for each operation that exceeds a maximum. All exceed the maximum NaN."""
    for one in found:
        rcu = one.cold["rcu"]
        usd = rcu * read_price
        if max_rcu is not None and not rcu <= max_rcu:
            yield f"{_named(one)} may cost {rcu:,g} RCU; the maximum is {max_rcu:,g}."
        if max_usd is not None and not usd <= max_usd:
            yield (
                f"{_named(one)} may cost {usd:,.2f} USD for a million calls; the "
                f"maximum is {max_usd:,.2f}."
            )


def _named(one: PricedOperation) -> str:
    return f"{one.title} ({one.document})"


def _grid(found: Sequence[PricedOperation], read_price: float) -> Grid:
    """Return a table with two lines for each operation: warm caches, then cold caches."""
    grid = Grid(
        title=f"The most that {len(found):,} operations cost",
        caption=f"A million read units cost {read_price:g} USD.",
    )
    grid.add_column("Operation and document", overflow="fold")
    grid.add_column("Caches")
    for heading in ("Requests", "RCU", "USD a million", "Values"):
        grid.add_column(heading, justify="right")
    for one in found:
        warm, cold = one.warm, one.cold
        grid.add_row(
            f"{one.title}\n{one.document}",
            "warm\ncold",
            *(f"{warm[name]:,}\n{cold[name]:,}" for name in ("requests", "rcu")),
            "\n".join(f"{state['rcu'] * read_price:,.2f}" for state in (warm, cold)),
            f"{cold['values']:,}",
        )
    return grid


def _notes(found: Sequence[PricedOperation]) -> Iterator[str]:
    """Yield sentences about what the figures do not say."""
    kinds = {one.kind for one in found}
    if "mutation" in kinds:
        yield "A mutation also writes. Its WCU are not predicted, and its price lacks them."
    if "subscription" in kinds:
        yield "A subscription's figures are the cost of each event."
    if any(one.cost.questions for one in found):
        yield "The price lacks queries to the analytics store."
    for one in found:
        if one.refusal is not None:
            yield f"The server refuses {_named(one)} with these variables: {one.refusal}"


def _json(one: PricedOperation, read_price: float, before: float | None) -> dict[str, Any]:
    """Return an operation and its figures. ``wcu`` is null if the server does not predict it."""
    return {
        "document": one.document,
        "operation": one.title,
        "variables": one.variables,
        "refusal": one.refusal,
        "warm": one.warm | {"usd": round(one.warm["rcu"] * read_price, 4)},
        "cold": one.cold | {"usd": round(one.cold["rcu"] * read_price, 4)},
        "wcu": None if one.kind == "mutation" else 0,
        "rcuAgainst": before,
    }
