from collections.abc import Iterator
from itertools import count
from threading import Event

from dal.table.item import Item
from server.importer.article_rows import Unloaded, article_rows
from server.importer.workbench_model import ModelTable


class Endless(ModelTable):
    """A table without any rows of the kind asked for; who reads it is told to stop on the way."""

    stopped = Event()

    def __iter__(self) -> Iterator[Item]:
        for number in count():
            if number == 3:
                self.stopped.set()
            assert number < 9, "it goes on"
            yield {"PK": {"S": f"BASKET#{number}"}, "SK": {"S": "LINE#1"}}


def test_it_can_be_stopped_while_only_items_of_other_kinds_come() -> None:
    unloaded = Unloaded()
    table = Endless("PK", "SK", {"PK", "SK"}, [])
    assert list(article_rows(table, "orders", unloaded, table.stopped)) == []
    assert unloaded.counts == {"BASKET#… / LINE#…": 3}
