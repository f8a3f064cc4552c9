"""Every snippet of the README and the documentation, run against one server with the demo data.

GraphQL is executed, JSON is compared with the response to the block before it, shell runs in a
directory like a clone (`tests/docs/shell.py`), and files are parsed. A block that cannot run here
has a comment with the reason before it: `<!-- not run: … -->`. The options in such a block are
still parsed. `python -m tests.docs.pages` lists these blocks.
"""

import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest
import yaml
from jinja2 import Environment

from dal.composition import KINDS
from features.loading.column_mapping import find_preset
from features.loading.kind import files_of
from tests.docs.markdown import Fence, fences
from tests.docs.pages import LANGUAGES, living, marked
from tests.docs.shell import Shell, shell
from tests.server.serving import SECRET, Served, bearer, served

CLONE = "http://127.0.0.1:8000"
"""The address of `make run` in all snippets."""

FILES = {
    "Reviews.csv": (
        "Id,ProductId,UserId,ProfileName,HelpfulnessNumerator,HelpfulnessDenominator,Score,Time,"
        "Summary,Text\n1,B000G6RYNE,A1,ana,0,0,5,1303862400,Good,It is good.\n"
    ),
    "Home_and_Kitchen.jsonl.gz": json.dumps(
        {
            "rating": 5.0,
            "title": "Good",
            "text": "It is good.",
            "images": [],
            "asin": "B01",
            "parent_asin": "B01",
            "user_id": "A1",
            "timestamp": 1588687728923,
            "helpful_vote": 0,
            "verified_purchase": True,
        }
    ),
    "persisted_queries.json": json.dumps(
        {"9d4b": "query Rating($id: ID!) { product(productId: $id) { lastCommentedAt } }"}
    ),
}
"""Small files with the names that snippets use."""


@dataclass
class Reader:
    """A reader of the documentation, with a clone and a running server."""

    server: Served
    shell: Shell
    answer: Any = None
    """The response to the previous block."""

    def follow(self, fence: Fence) -> None:
        """Execute a block. Raise AssertionError if the result is wrong."""
        before, self.answer = self.answer, None
        if fence.note == "not run":
            self._look_at(fence)
        elif fence.language == "json":
            assert before is not None, (
                "The block before it has no response: add a comment with the reason."
            )
            assert json.loads(fence.text) == before, json.dumps(before, ensure_ascii=False)
        else:
            getattr(self, f"_{fence.language or 'plain'}")(fence)

    def _graphql(self, fence: Fence) -> None:
        headers = bearer("demo", "staff")
        if fence.text.lstrip().startswith("subscription"):
            headers["Accept"] = "text/event-stream"
        body = {"query": fence.text}
        url = f"{self.server.url}/graphql"
        with httpx.stream("POST", url, json=body, headers=headers, timeout=60) as answer:
            if answer.headers["Content-Type"].startswith("text/event-stream"):
                told = (line for line in answer.iter_lines() if line.startswith("event:"))
                assert next(told) == "event: next"
                return
            self.answer = json.loads(answer.read())
        assert "errors" not in self.answer, self.answer["errors"]

    def _sh(self, fence: Fence) -> None:
        block = fence.text.replace(CLONE, self.server.url)
        outcome = self.shell.run(block, until_it_speaks=fence.note == "stopped")
        assert outcome.returncode == 0, f"{outcome.stdout}{outcome.stderr}"
        with suppress(json.JSONDecodeError):
            self.answer = json.loads(outcome.stdout)
            assert "errors" not in self.answer, self.answer["errors"]

    def _console(self, fence: Fence) -> None:
        for line in fence.text.splitlines():
            if line.startswith("$ "):
                self._sh(Fence("sh", line[2:], fence.line))

    def _plain(self, fence: Fence) -> None:
        """Check nothing: the block is a drawing, a usage line or an output."""

    def _toml(self, fence: Fence) -> None:
        path = self.shell.directory / "shop.toml"
        path.write_text(fence.text)
        find_preset(str(path), files_of(KINDS))

    def _yaml(self, fence: Fence) -> None:
        assert yaml.safe_load(fence.text)

    def _python(self, fence: Fence) -> None:
        compile(fence.text, "snippet", "exec")

    def _js(self, fence: Fence) -> None:
        """Check the syntax of a JavaScript module with Node.js."""
        checked = self.shell.run(f"node --input-type=module --check - <<'END'\n{fence.text}\nEND")
        assert checked.returncode == 0, checked.stderr

    def _html(self, fence: Fence) -> None:
        """Check that every element of an HTML fragment is closed."""
        ET.fromstring(f"<body>{fence.text.replace(' async ', ' ')}</body>")

    def _jinja(self, fence: Fence) -> None:
        Environment(extensions=["jinja2.ext.i18n"], autoescape=True).parse(fence.text)

    def _diff(self, fence: Fence) -> None:
        """Check the form only: tests/integration/test_recipe.py applies CONTRIBUTING's recipe."""
        assert {line[:1] or " " for line in fence.text.splitlines()} <= set("+-@ ")

    def _look_at(self, fence: Fence) -> None:
        assert len(fence.reason) > len("it cannot"), "Give a reason."
        if fence.language == "sh":
            checked = self.shell.check(fence.text)
            assert checked.returncode == 0, checked.stderr
        elif fence.language == "json":
            json.loads(fence.text)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory, demo_data: Path) -> Iterator[Reader]:
    """A reader in a directory like a clone after `make run`."""
    directory, before = tmp_path_factory.mktemp("readers") / "clone", Path.cwd()
    directory.mkdir()
    another_checkout = directory.parent / "before/.venv/bin/marginalia"
    another_checkout.parent.mkdir(parents=True)
    another_checkout.touch()
    shutil.copytree(demo_data, directory / "data")
    for name, content in FILES.items():
        packed = gzip.compress(content.encode()) if name.endswith(".gz") else content.encode()
        (directory / name).write_bytes(packed)
    with shell(directory, MARGINALIA_JWT_SECRET=SECRET) as opened:
        os.chdir(directory)
        try:
            with served(directory / "data", "--demo") as server:
                opened.begin()
                yield Reader(server, opened)
        finally:
            os.chdir(before)


def test_the_plans_of_the_readme_read_two_partitions_and_then_one(reader: Reader) -> None:
    """README describes these two plans in words.

    This test runs before README's snippets fill the caches.
    """
    page = """{ product(productId: "1") { comments(rating: %s, language: "en", first: 3) {
      plan { index segments { limit } } } } }"""
    seen = []
    for ratings in ("[1, 2]", "[4, 5]"):
        body = {"query": page % ratings}
        answer = httpx.post(f"{reader.server.url}/graphql", json=body, timeout=60).json()
        plan = answer["data"]["product"]["comments"]["plan"]
        seen.append((plan["index"], [one["limit"] for one in plan["segments"]]))
    assert seen[0] == ("byLangAndRating", [3, 4])
    assert seen[1][0] == "byLang"
    assert len(seen[1][1]) == 1


@pytest.mark.parametrize("page", living())
def test_every_block_of_a_page_runs(reader: Reader, page: str) -> None:
    reader.answer = None
    wrong = []
    for fence in fences(living()[page]):
        try:
            reader.follow(fence)
        except (AssertionError, subprocess.TimeoutExpired) as fault:
            wrong.append(f"{page}:{fence.line}: {fault}")
    reader.shell.tidy()
    assert not wrong, "\n".join(wrong)


def test_each_block_has_a_known_language() -> None:
    for page, text in living().items():
        assert {fence.language for fence in fences(text)} <= LANGUAGES, page


def test_each_block_of_the_readme_runs() -> None:
    pages = {page for page, _ in marked()}
    assert "README.md" not in pages
