"""The sentences of one comment per person."""

from pathlib import Path

import pytest

from dal.counts.mode import Maintenance, MaintenanceStore
from dal.dynamodb.table import Table
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from features.one_per_person.kind import ReservationCorrection, described
from features.one_per_person.model import SWITCH, OnePerPerson, extras
from tests.putting import put_comments
from tests.server.cli.commands.saying import sentences_of
from tests.strategies import comment

SENTENCES: dict[str, list[str]] = {
    "table one-per-person on": [
        "Table shop: a person may have one comment on each product.",
        (
            "Comments whose author has a newer comment on the same product: 4. They "
            "stay. To list them, run `marginalia table one-per-person on --list`."
        ),
        "Waiting 0 s until all running servers know of this command.",
    ],
    "table one-per-person off": [
        "Table shop: a person may have any number of comments.",
    ],
}
"""The sentences that each command prints."""


async def test_commands_on_one_table(
    table: Table, store: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.cli.long_running.SETTLE_SECONDS", 0)
    monkeypatch.chdir(tmp_path)
    comments = [comment(f"c{number}", username="ann") for number in range(5)]
    await put_comments(Stores(table).comments, comments)
    assert sentences_of(SENTENCES, table, store) == SENTENCES


def limited(limit: OnePerPerson) -> Maintenance:
    return Maintenance(extras=extras(Maintenance(), limit))


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        (OnePerPerson.OFF, "A person may have any number of comments on a product."),
        (
            OnePerPerson.MARKING,
            (
                "A person may have one comment on each product, but not all older comments are "
                "recorded yet. Run `marginalia table one-per-person on` again."
            ),
        ),
        (OnePerPerson.ON, "A person may have one comment on each product."),
    ],
)
def test_the_limit_has_a_sentence(limit: OnePerPerson, sentence: str) -> None:
    assert described({}, limited(limit)) == sentence


def test_a_command_that_cannot_run_meanwhile_has_a_sentence(table: Table) -> None:
    marking = limited(OnePerPerson.MARKING)
    with pytest.raises(StoreRefusedError) as caught:
        MaintenanceStore(table, [SWITCH]).check_alone(marking, Maintenance(upgrading=True))
    assert str(caught.value) == (
        "An upgrade of the table and a change of the limit of comments per person cannot run at "
        "the same time, and a change of the limit of comments per person has not ended: wait for "
        "its end, or complete it with `marginalia table one-per-person on`. Then run this command "
        "again."
    )


def test_a_correction_has_a_sentence(table: Table) -> None:
    correction = ReservationCorrection(table)
    assert correction.report() == ""
    correction.added, correction.removed = 2, 1
    assert correction.report() == (
        "One comment per person: 2 comments were not recorded. They are recorded now. 1 records of "
        "deleted comments are removed."
    )
