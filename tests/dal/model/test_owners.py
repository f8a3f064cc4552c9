import pytest

from dal.model.owners import erased_owner, has_account, imported_owner


def test_imported_and_erased_owners_have_no_account() -> None:
    assert not has_account(imported_owner("comment", "1"))
    assert not has_account(erased_owner())


@pytest.mark.parametrize(
    "username", ["John", "imported-", "erased-1", f"imported-{'g' * 32}", "xerased-00000000"]
)
def test_other_ids_may_have_an_account(username: str) -> None:
    assert has_account(username)


def test_each_source_has_its_own_owner() -> None:
    sources = [("comment", "1"), ("author", "1"), ("author", "1", ""), ("comment", "2")]
    assert len({imported_owner(*one) for one in sources}) == len(sources)
    assert imported_owner("comment", "1") == "imported-7759867ee7d8bfc4f34c8d17f868bb20"
