"""Each field of a comment is in the guides, or the test states a reason."""

from dal.model.comment_fields import FIELDS
from tests.comment_fields import NAMED, check
from tests.engines import ROOT


def test_every_column_is_in_the_guide_to_loading() -> None:
    guide = (ROOT / "docs/loading.md").read_text("utf-8")
    check(
        "docs/loading.md",
        {name: all(f"`{one}`" in guide for one in field.columns) for name, field in NAMED.items()},
    )


def test_every_stored_field_is_in_the_guide_to_events() -> None:
    guide = (ROOT / "docs/events.md").read_text("utf-8")
    stored = {field.name: f"`{field.stored}`" in guide for field in FIELDS if field.stored}
    check("data in docs/events.md", stored)
