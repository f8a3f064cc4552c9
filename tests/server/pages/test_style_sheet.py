"""The style sheet is one request, made of every part once."""

import re
from collections import Counter

import httpx

from server.http.files import ROOT
from server.pages.style_sheet import PARTS


async def test_every_part_is_in_the_one_sheet(client: httpx.AsyncClient) -> None:
    answer = await client.get("/static/pages/page.css")
    assert answer.headers["content-type"].startswith("text/css")
    assert set(PARTS) == {path.stem for path in (ROOT / "web/styles").iterdir()}
    for part in PARTS:
        assert (ROOT / f"web/styles/{part}.css").read_text("utf-8") in answer.text


async def test_no_rule_is_said_twice(client: httpx.AsyncClient) -> None:
    sheet = (await client.get("/static/pages/page.css")).text
    rules = Counter(re.findall(r"(?m)^([^\s@/}][^{}]*\{[^{}]*\})", sheet))
    assert len(rules) > 100
    assert [rule for rule, times in rules.items() if times > 1] == []
