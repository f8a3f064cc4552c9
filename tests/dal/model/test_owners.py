import pytest

from dal.model.owners import has_account


@pytest.mark.parametrize("username", [f"imported-{'0' * 32}", "erased-00000000"])
def test_imported_and_erased_owners_have_no_account(username: str) -> None:
    assert not has_account(username)


@pytest.mark.parametrize(
    "username", ["John", "imported-", "erased-1", f"imported-{'g' * 32}", "xerased-00000000"]
)
def test_other_ids_may_have_an_account(username: str) -> None:
    assert has_account(username)
