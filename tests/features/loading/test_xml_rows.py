import re
from collections.abc import Mapping
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.loading.rows import Reject, Row
from features.loading.xml_rows import MAX_PATH_CHARACTERS, MAX_ROW_CHARACTERS, XmlRows
from server.errors import CommandError
from tests.features.loading.reading import source

PATH = "Feed/Product/Review"


def read(content: str | bytes, path: str = PATH) -> list[Row | Reject]:
    return list(XmlRows(source(content), path))


def cells(content: str) -> list[Mapping[str, object]]:
    return [one.cells for one in read(content) if isinstance(one, Row)]


def refusal(content: str | bytes) -> str:
    with pytest.raises(CommandError) as caught:
        read(content)
    return str(caught.value)


def test_columns_are_paths_below_the_row_and_paths_from_the_root() -> None:
    found = cells(
        '<Feed name="shop" xmlns="urn:x" xmlns:y="urn:y"><Product id="p"><Name>Mug</Name>'
        '<Sizes><Size>S</Size></Sizes><Review id="1" y:state="ok"><User id="u"><Name> Ana </Name>'
        "</User><Text><![CDATA[a <b> & c]]></Text><Photo>1.jpg</Photo><Photo>2.jpg</Photo><None/>"
        "</Review><After>x</After></Product><Product><Review/></Product></Feed>"
    )
    assert found == [
        {
            "/Feed/@name": "shop",
            "/Feed/Product/@id": "p",
            "/Feed/Product/Name": "Mug",
            "@id": "1",
            "@state": "ok",
            "User": "",
            "User/@id": "u",
            "User/Name": "Ana",
            "Text": "a <b> & c",
            "Photo": "1.jpg\n2.jpg",
            "None": "",
        },
        {"/Feed/@name": "shop"},
    ]


def test_the_line_of_a_row_is_that_of_its_start() -> None:
    content = "<Feed>\n<Product>\n<Review>\n</Review> <Review/>\n\n<Review/></Product></Feed>"
    assert [one.line for one in read(content)] == [3, 4, 6]


def test_a_too_long_row_is_rejected_and_the_next_row_is_read() -> None:
    long = "x" * (MAX_ROW_CHARACTERS + 1)
    first, second = read(
        f"<Feed><Product><Review>{long}</Review></Product>"
        '<Product id="p"><Name>Mug</Name><Review/></Product></Feed>'
    )
    assert isinstance(first, Reject)
    assert first.cut
    assert f"{MAX_ROW_CHARACTERS:,}" in first.reason
    assert isinstance(second, Row)
    assert second.cells == {"/Feed/Product/@id": "p", "/Feed/Product/Name": "Mug"}


def test_attributes_count_for_the_length_of_a_row() -> None:
    users = f'<User id="{"x" * 1000}"/>' * (MAX_ROW_CHARACTERS // 1000 + 1)
    (row,) = read(f"<Feed><Product><Review>{users}</Review></Product></Feed>")
    assert isinstance(row, Reject)


def test_elements_without_an_end_are_refused_early() -> None:
    refused = refusal("<Feed>\n<Product>" + "<a>" * 100_000)
    assert re.match(f"sample .* line 2: .* {MAX_PATH_CHARACTERS:,} ", refused)
    deepest = MAX_PATH_CHARACTERS // 2
    assert read("<a>" * deepest + "</a>" * deepest) == []


def test_a_document_type_is_refused_before_its_entities_are_read() -> None:
    laughs = '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    for inside in (laughs, '<!ENTITY a SYSTEM "file:///etc/passwd">'):
        message = refusal(f"<!DOCTYPE Feed [{inside}]><Feed><Review>&a;</Review></Feed>")
        assert "<!DOCTYPE …>" in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<Feed>\n<Product>", "incomplete .* line 2, column 10:"),
        ("<Feed>\n</Product>", r"line 2, column 3 \(mismatched tag\):"),
        ("<Feed>&a;</Feed>", r"line 1, column 7 \(undefined entity\):"),
        (b"<Feed>\xff</Feed>", "line 1, column 7, .* --encoding"),
        (
            b"<Feed>\n<a>" + b"\xc3\xa9" * 70_000 + b"\xe9</a></Feed>",
            "line 2, column 70004, .* --encoding",
        ),
        ("", "incomplete .* line 1, column 1:"),
    ],
)
def test_text_that_is_not_xml_is_refused(content: str | bytes, message: str) -> None:
    assert re.match(f"sample .*{message}", refusal(content))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_the_declared_encoding_is_used(encoding: str) -> None:
    declared = f'<?xml version="1.0" encoding="{encoding}"?>'
    text = f'{declared}<Feed><Product><Review a="é"/></Product></Feed>'
    (row,) = read(text.encode(encoding))
    assert isinstance(row, Row)
    assert row.cells == {"@a": "é"}


@pytest.mark.parametrize("encoding", ["Shift_JIS", "GBK", "none-such", "idna"])
def test_an_encoding_that_expat_does_not_support_is_refused(encoding: str) -> None:
    declared = f'<?xml version="1.0" encoding="{encoding}"?>'
    assert "--encoding" in refusal(f"{declared}<Feed/>")


TEXTS = st.text(
    st.characters(
        codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"
    ),
    max_size=30,
)


@given(
    st.lists(st.dictionaries(st.from_regex(r"[A-Za-z_]{1,8}", fullmatch=True), TEXTS), max_size=20)
)
def test_rows_are_read_unchanged(rows: list[dict[str, str]]) -> None:
    written = "".join(
        "<Review>" + "".join(f"<{k}>{escape(v)}</{k}>\n" for k, v in row.items()) + "</Review>"
        for row in rows
    )
    expected = [{name: text.strip() for name, text in row.items()} for row in rows]
    assert cells(f"<Feed><Product>{written}</Product></Feed>") == expected
