import pytest

from server.http.request import GRAPHQL, HTML, JSON, preferred

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
URQL = f"{GRAPHQL}, application/graphql+json, application/json, text/event-stream, multipart/mixed"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, JSON),
        ("", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        (JSON, JSON),
        ("Application/JSON; charset=utf-8", JSON),
        (GRAPHQL, GRAPHQL),
        (f"{GRAPHQL}; charset=utf-8", GRAPHQL),
        (f"{JSON}, {GRAPHQL}", GRAPHQL),
        (f"{GRAPHQL};q=0.5, {JSON}", JSON),
        (f"{GRAPHQL},{JSON};q=0.9", GRAPHQL),
        (f"{GRAPHQL};q=0, */*", JSON),
        (f"{JSON};q=0, */*", None),
        (f"{GRAPHQL};q=high", GRAPHQL),
        (URQL, GRAPHQL),
        (BROWSER, HTML),
        ("application/json, text/plain, */*", JSON),
        ("application/json, text/html;q=0.1", JSON),
        ("image/png", None),
        ("text/event-stream, multipart/mixed", None),
        (";,;q=,", None),
    ],
)
def test_the_preferred_media_type_is_chosen(accept: str | None, chosen: str | None) -> None:
    assert preferred(accept, (HTML, GRAPHQL, JSON)) == chosen
