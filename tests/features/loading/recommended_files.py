"""Loads and exports the field that CONTRIBUTING's recipe adds, with a copy of the code after it."""

from features.loading.column_mapping import make_column_mapping
from features.loading.kind import COMMENTS
from features.loading.loaded import LoadedComment
from tests.oracle import make_comments


def main() -> None:
    plain = make_comments("42", 1, seed=1)[0]
    recommended = plain._replace(recommended=True)  # type: ignore[call-arg]
    stored = LoadedComment(plain).over(recommended, plain.created_at)
    assert stored.recommended is True  # type: ignore[union-attr]
    names = [one.name for one in COMMENTS.fields]
    cells = dict(zip(names, COMMENTS.cells(recommended), strict=True))
    assert cells["recommended"] is True
    required = {"id": "1", "product_id": "42", "username": "ann", "rating": 5, "language": "en"}
    required |= {"text": "Good.", "created_at": "2024-01-01T00:00:00Z"}
    row = make_column_mapping(COMMENTS, (), ()).make(required | {"recommended": "true"})
    assert row.given == {"recommended": True}


if __name__ == "__main__":
    main()
