"""The report about front ends' documents: which fields are compiled, and which are not."""

from graphql import parse, validate

from schema.build import build_schema
from tools.bench.coverage import DOCUMENTS, LEAST, ROOT, coverage, coverages, documents_in, share

SCHEMA = build_schema().documents.schema


def test_most_fields_of_front_ends_documents_are_compiled() -> None:
    found = list(coverages())
    assert {one.place.partition("/")[0] for one in found} == {"examples", "tests"}
    assert len(found) > 40
    assert share(found) >= LEAST, [one for one in found if one.left]


def test_typical_documents_are_valid() -> None:
    for _, document in documents_in(ROOT / DOCUMENTS[-1]):
        assert validate(SCHEMA, document) == []


def test_fields_that_are_not_compiled_are_listed() -> None:
    declared = ", ".join(f"${name}: Boolean!" for name in "pqrst")
    fields = " ".join(f"{name}: id @skip(if: ${name})" for name in "pqrst")
    document = parse(
        f"query Wide({declared}) {{ viewer {{ {fields} }} }} "
        "query Names { __schema { queryType { name } } viewer { id } }"
    )
    wide, names = coverage(SCHEMA, "here", document)
    assert (wide.operation, wide.fields, len(wide.left)) == ("Wide", 6, 6)
    why = "introspection"
    assert names.left == [("__schema", why), ("queryType", why), ("name", why)]
