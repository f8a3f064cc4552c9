from dal.model.owners import has_account
from features.loading.hashed_ids import imported_owner


def test_an_imported_author_has_no_account() -> None:
    assert not has_account(imported_owner("comment", "1"))


def test_each_source_has_its_own_owner() -> None:
    sources = [("comment", "1"), ("author", "1"), ("author", "1", ""), ("comment", "2")]
    assert len({imported_owner(*one) for one in sources}) == len(sources)
    assert imported_owner("comment", "1") == "imported-7759867ee7d8bfc4f34c8d17f868bb20"
