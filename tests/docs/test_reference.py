"""The documentation names only existing error codes, commands, settings and directories."""

import re
from functools import cache
from typing import Any

import pytest
from typer import main

from dal.errors import GrantError
from resolvers.mutations import CODES
from schema.errors import KNOWN_ERRORS, ErrorCode, UserErrorCode
from server.cli.variables import OTHERS as NO_OPTIONS
from tests.docs.markdown import fences
from tests.docs.pages import living
from tests.docs.shell import TOOLS, make_complaint
from tests.engines import ROOT
from tests.recipes import FEATURE, edits_of
from tools.site.commands import app

_CODE = re.compile(r'"([A-Z]{3,}(?:_[A-Z]+)*)"')
_NO_CODES = {"EUR", "GET", "POST", "HEAD", "OPTIONS", "MAX_SIZE"} | {
    code.name for code in UserErrorCode
}
_ROW = re.compile(r"^\| `([A-Z_]+)` \| [^|]+ \| [^|]+ \|$", re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]+)`")
_VARIABLE = re.compile(r"\bMARGINALIA_[A-Z_]+[A-Z]\b")

OTHERS = {"--alternator-write-isolation", "--redis", "--writes"}
"""Options of ScyllaDB and of trials, which pages may name too."""


@cache
def commands() -> dict[str, Any]:
    """Return every command and group of commands by name."""
    return main.get_command(app).commands  # type: ignore[attr-defined, no-any-return]


@cache
def leaves() -> dict[str, Any]:
    """Return each command by its full name, such as "table upgrade"."""
    found: dict[str, Any] = {}
    for name, command in commands().items():
        for inner, leaf in getattr(command, "commands", {"": command}).items():
            found[f"{name} {inner}".strip()] = leaf
    return found


@cache
def tools() -> dict[str, Any]:
    """Return each command of `tools/` by its module and name."""
    apps = {module: main.get_command(app) for module, app in TOOLS.items()}
    return {
        f"{module} {name}".strip(): command
        for module, app in apps.items()
        for name, command in getattr(app, "commands", {"": app}).items()
    }


@cache
def options(words: str = "") -> set[str]:
    """Return the options of the commands whose names begin with ``words``."""
    every = leaves() | tools()
    chosen = [leaf for name, leaf in every.items() if f"{name} ".startswith(words)]
    params = [one for leaf in chosen for one in leaf.params]
    return {"--help"} | {name for one in params for name in (*one.opts, *one.secondary_opts)}


@cache
def variables() -> set[str]:
    """Return the environment variables of all options, and the other variables."""
    return {str(one.envvar) for leaf in leaves().values() for one in leaf.params} | NO_OPTIONS


def unknown(code: str) -> bool:
    """Return whether inline code names a command, option or variable that does not exist."""
    words = code.removeprefix(".venv/bin/").split()
    wrong = any(one not in variables() for one in _VARIABLE.findall(code))
    match words:
        case ["make", target, *rest] if re.fullmatch("[a-z-]+", target):
            return wrong or bool(
                make_complaint([target, *(one for one in rest if one[:5] == "NAME=")])
            )
        case ["marginalia", name, *rest] if re.fullmatch("[a-z]+", name):
            inner = f"{name} {rest[0]}" if rest and f"{name} {rest[0]}" in leaves() else name
            named = {one for one in rest if one.startswith("--")}
            return wrong or name not in commands() or not named <= options(f"{inner} ")
        case ["python", "-m", module, *rest] if module.startswith("tools."):
            named = {one for one in rest if one.startswith("--")}
            tool = module if module in tools() else " ".join([module, *rest[:1]])
            return wrong or tool not in tools() or not named <= options(f"{tool} ")
        case [option, *_] if re.fullmatch("--[a-z][a-z-]+", option):
            return wrong or option not in options() | OTHERS
    return wrong


def test_every_code_has_a_cause_and_a_next_step() -> None:
    places = (
        "features/live/subscriptions.py",
        "features/trusted_documents/persisted.py",
        "schema/execution/errors.py",
    )
    files = [*(ROOT / place for place in places), *sorted((ROOT / "server/http").rglob("*.py"))]
    literal = {code for path in files for code in _CODE.findall(path.read_text("utf-8"))}
    errors, user_errors = (
        set(_ROW.findall(part)) for part in living()["docs/errors.md"].split("## User errors")
    )
    known = {one.code for one in KNOWN_ERRORS.values()}
    both = {"BAD_ARGUMENT", "INVITATION_REVOKED", "NOT_FOUND"}
    used = (known | literal) - _NO_CODES | both
    assert errors == used == {code.value for code in ErrorCode}
    assert user_errors == {code.name for code in UserErrorCode}
    assert user_errors >= {*CODES.values(), *(one.code for one in GrantError.__subclasses__())}


@pytest.mark.parametrize("page", living())
def test_commands_and_settings_in_the_documentation_exist(page: str) -> None:
    assert [code for code in _INLINE.findall(living()[page]) if unknown(code)] == []


def test_the_paths_in_contributing_exist() -> None:
    text = living()["CONTRIBUTING.md"]
    tree = next(one.text for one in fences(text) if one.text.startswith("schema/"))
    named = [line.split()[0] for line in tree.splitlines() if line[0] != " "]
    assert [one for one in named if not (ROOT / one).is_dir()] == []
    packages = {one.parent.name for one in ROOT.glob("*/__init__.py")}
    assert {one for one in packages if f"{one}/" not in named} == set()
    table = text[text.index("| to change |") : text.index("## Adding an access pattern")]
    paths = re.findall("`([a-z_]+/[a-z_/.]+)`", table)
    new = {edit.file for edit in edits_of(FEATURE)}
    assert [one for one in paths if one not in new and not (ROOT / one).exists()] == []


def test_a_name_that_does_not_exist_is_found() -> None:
    wrong = [
        *(
            "make nothing",
            "make trial NAME=nothing",
            "marginalia nothing",
            "marginalia serve --nothing",
            "--nothing 1",
        ),
        *("python -m tools.bench nothing", "python -m tools.bench cost --nothing"),
    ]
    assert [code for code in wrong if not unknown(code)] == []
    assert unknown("MARGINALIA_NOTHING=1")
    assert not unknown("marginalia table upgrade --write-units")
