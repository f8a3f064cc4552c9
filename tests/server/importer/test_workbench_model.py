from dal.table.item import Item
from server.importer.workbench_model import ModelTable


def test_an_item_without_the_sort_key_is_of_none() -> None:
    items: list[Item] = [{"pk": {"S": "a"}}, {"pk": {"S": "a"}, "sk": {"S": "b"}}]
    assert ModelTable("pk", "sk", {"pk", "sk"}, items).with_sort_key("b") == items[1:]
