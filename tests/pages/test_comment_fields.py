"""Each field of a comment is on its card, and each filter in the addresses and documents."""

from collections.abc import Iterator

from graphql import FieldNode, TypeInfo, TypeInfoVisitor, Visitor, parse, validate, visit
from jinja2 import Environment, nodes
from starlette.datastructures import QueryParams

from dal.model.comment_fields import FIELDS, FILTERS
from pages.addresses import Filters
from pages.i18n import TEMPLATES
from pages.list_filters import SWITCHES
from pages.page_documents import CARD, DOCUMENTS
from schema.build import build_schema
from tests.comment_fields import NAMED, PLACES, TYPES, argument, check, graphql_name

EXPLAINED = build_schema(explain=True)._schema

NO_FILTERS = {"widget": "It shows a few comments, and links to the page of the product."}
"""The documents of pages that do not pass all filters."""


def test_every_field_is_on_the_card_of_a_comment() -> None:
    environment = Environment(extensions=["jinja2.ext.i18n", "jinja2.ext.loopcontrols"])
    names = set[str]()
    for path in ("card.html", "photos.html"):
        tree = environment.parse((TEMPLATES / path).read_text("utf-8"))
        names |= {one.attr for one in tree.find_all(nodes.Getattr)}
    shown = {field.name: graphql_name(field) in names for field in FIELDS}
    check("page", shown)
    selected = set[str]()
    for document in ("product", "comment"):
        selected |= {
            name for owner, name, _ in fields_of(DOCUMENTS[document]) if owner == "Comment"
        }
    assert {graphql_name(NAMED[name]) for name, there in shown.items() if there} <= selected
    needed = {graphql_name(NAMED[name]) for name, there in shown.items() if there}
    assert needed - {"helpfulCount"} <= {*CARD}, "the draft of a new comment"
    found = fields_of(DOCUMENTS["moderation.queue"])
    queue = {name for owner, name, _ in found if owner == "Submission"}
    of_submissions = {name for name in shown if shown[name] and name not in PLACES["Submission"]}
    assert {graphql_name(NAMED[name]) for name in of_submissions} <= queue


def test_every_filter_is_in_the_addresses_of_pages() -> None:
    assert {argument(name) for name in FILTERS} == {*Filters().variables()} & {
        argument(name) for name in FILTERS
    }
    known = {argument(name) for name in FILTERS} - {"rating", "language"}
    assert {switch.argument for switch in SWITCHES.values()} == known
    full = Filters(ratings=(1,), languages=("en",), on=tuple(SWITCHES))
    assert Filters.of(QueryParams(full.query[1:])) == full
    assert all(full.variables()[argument(name)] for name in FILTERS)


def test_every_filter_is_in_the_documents_of_pages() -> None:
    lists = [
        (name, {one.name.value for one in field.arguments or ()})
        for name, text in DOCUMENTS.items()
        for owner, _, field in fields_of(text)
        if field.name.value in {"comments", "commentEvents"}
        and owner in {"Product", "ProductGroup", "Subscription"}
    ]
    expected = {argument(name) for name in FILTERS}
    filtered = [(name, given) for name, given in lists if given & expected]
    assert len(filtered) >= 5
    for name, passed in filtered:
        assert (expected <= passed) is (name not in NO_FILTERS), name
        assert not validate(EXPLAINED, parse(DOCUMENTS[name])), f"the variables of {name}"


def fields_of(text: str) -> Iterator[tuple[str, str, FieldNode]]:
    """Yield the type, name and node of each field of a document."""
    info = TypeInfo(TYPES)
    found: list[tuple[str, str, FieldNode]] = []

    class Fields(Visitor):
        def enter_field(self, node: FieldNode, *_: object) -> None:
            parent = info.get_parent_type()
            found.append((str(parent), node.name.value, node))

    visit(parse(text), TypeInfoVisitor(info, Fields()))
    yield from found
