"""Each field of a comment is a column of files, and loads keep it, or the test states a reason."""

from dal.model import Comment
from dal.model.comment_fields import FIELDS
from features.loading.kind import COMMENTS
from tests.comment_fields import check


def test_every_field_is_a_column_of_files_and_loads_keep_it() -> None:
    columns = [field.name for field in COMMENTS.fields if not field.all_states]
    assert {*columns} == {column for field in FIELDS for column in field.columns}
    check("file", {field.name: bool(field.columns) for field in FIELDS})
    check(
        "kept", {field.name: field.kept for field in FIELDS if field.name not in Comment._fields[:5]
        and field.name not in {"text", "created_at"}}
    )  # fmt: skip
