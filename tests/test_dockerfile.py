"""The build context contains exactly the tracked files that the Dockerfile copies.

No Docker engine is needed: .dockerignore has lines of three forms only.
"""

import ast
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import botocore
import pytest
import yaml

from pages.i18n import LOCALES
from server.serving import GRACE
from tests.docs.test_reference import variables
from tests.engines import ROOT

IMAGE = (ROOT / "Dockerfile").read_text("utf-8")
EVERYTHING, *IGNORE_LINES = [
    line
    for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
LET_IN = {line.removeprefix("!") for line in IGNORE_LINES if line.startswith("!")}
NOWHERE = {line.removeprefix("**/") for line in IGNORE_LINES if line.startswith("**/")}
"""Names that Docker excludes in every folder."""


def is_ignored(path: str) -> bool:
    """Return whether .dockerignore excludes ``path`` from the build context."""
    top, *_ = parts = path.split("/")
    return top not in LET_IN or not NOWHERE.isdisjoint(parts)


def test_dockerignore_allows_names_at_the_root_and_excludes_names_anywhere() -> None:
    forms = [*(f"!{name}" for name in LET_IN), *(f"**/{name}" for name in NOWHERE)]
    assert (EVERYTHING, sorted(IGNORE_LINES)) == ("*", sorted(forms))
    assert all(re.fullmatch(r"[\w.-]+", name) for name in LET_IN | NOWHERE)


def copied() -> set[str]:
    """Return the sources of every COPY from the build context."""
    text = IMAGE.replace("\\\n", " ")
    steps = [line.split() for line in text.splitlines() if line.startswith("COPY ")]
    own = [step for step in steps if not any(word.startswith("--from=") for word in step)]
    return {source for step in own for source in step[1:-1] if not source.startswith("--")}


def files(*options: str) -> list[str]:
    """Return the output of ``git ls-files``, with a slash at the end of folders."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no git here that could say what is tracked")
    done = subprocess.run(
        ["git", "ls-files", "-z", *options], cwd=ROOT, capture_output=True, check=True
    )
    return done.stdout.decode().split("\0")[:-1]


def test_the_context_contains_only_the_tracked_files_that_are_copied() -> None:
    tracked = files()
    wanted = {one for one in tracked for place in copied() if f"{one}/".startswith(f"{place}/")}
    assert {one for one in tracked if not is_ignored(one)} == wanted


def test_every_source_of_a_copy_is_tracked() -> None:
    places = {str(place) for one in files() for place in [one, *PurePosixPath(one).parents]}
    assert copied() <= places


@pytest.mark.parametrize(
    "path",
    [".git", ".git/config", ".venv/bin/python", "data/marginalia.db", "node_modules/react/x.js"],
)
def test_files_that_git_never_tracks_are_not_in_the_context(path: str) -> None:
    assert is_ignored(path)


def test_files_that_git_ignores_are_not_in_the_context() -> None:
    found = files("--others", "--ignored", "--exclude-standard", "--directory")
    inside = [f"{one}x" if one.endswith("/") else one for one in found]
    assert [one for one in inside if not is_ignored(one)] == []


@pytest.mark.parametrize("service", ["marginalia", "server-1", "server-2", "table"])
def test_the_variables_in_compose_are_options_of_commands(service: str) -> None:
    project = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    given = {one for one in project["services"][service]["environment"] if one[:4] == "MARG"}
    assert given
    assert given <= variables()


def services() -> dict[str, dict[str, Any]]:
    """Return the services of compose.yaml."""
    found: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))[
        "services"
    ]
    return found


@pytest.mark.parametrize("name", services())
def test_a_service_of_compose_has_few_rights_and_limits(name: str) -> None:
    service = services()[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "/tmp" in service["tmpfs"]
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"])
    options = service["logging"]["options"]
    assert options.keys() == {"max-size", "max-file"}
    seconds = int(service["stop_grace_period"].removesuffix("s"))
    assert seconds > 2 * GRACE, "Docker kills a server before its requests have ended"


@pytest.mark.parametrize("name", services())
def test_a_service_of_compose_has_a_pinned_image(name: str) -> None:
    service = services()[name]
    assert "build" in service or re.search(r":\d+\.\d+\.\d+(-alpine)?$", service["image"])


def test_the_bases_of_the_image_are_pinned() -> None:
    bases = dict(re.findall(r"^ARG (\w+)=(.+)", IMAGE, re.MULTILINE))
    assert bases.keys() == {"PYTHON", "NODE"}
    assert all(re.fullmatch(r"\w+:\d+\.\d+\.\d+-slim", one) for one in bases.values())


def test_the_stages_have_arguments_for_their_bases_and_the_engine() -> None:
    bases = re.findall(r"^FROM (\S+)", IMAGE, re.MULTILINE)
    declared = set(re.findall(r"^ARG (\w+)", IMAGE, re.MULTILINE))
    assert {one.strip("${}") for one in bases} | {"ENGINE"} == declared
    assert "platform" not in (ROOT / "compose.yaml").read_text("utf-8")


def test_the_image_has_all_packages_of_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert set(packages) == {source for source in copied() if (ROOT / source).is_dir()}


def test_the_image_keeps_babels_data_for_the_languages_of_the_pages() -> None:
    (kept,) = re.findall(r"/\(([\w|]+)\)\\\.dat", IMAGE)
    parents = {"root", *(str(one).partition("_")[0] for one in LOCALES.values())}
    assert set(kept.split("|")) == parents | {str(one) for one in LOCALES.values()}


def opened_services() -> set[str]:
    """Return the AWS services whose SDK clients the code opens."""
    calls = [
        node
        for path in files("*.py")
        if not path.startswith(("tests/", "tools/"))
        for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8")))
        if isinstance(node, ast.Call)
    ]
    return {
        str(call.args[0].value)
        for call in calls
        if ast.unparse(call.func) in {"open_sdk", "session.client"}
        and isinstance(call.args[0], ast.Constant)
    }


def test_the_image_keeps_the_descriptions_of_the_services_that_the_code_opens() -> None:
    """Run the Dockerfile's ``find`` on the installed SDK. It prints the folders to delete."""
    (line,) = re.findall(r"^.*(find \S+/botocore/data .*)-exec rm -r \{\} \+", IMAGE, re.MULTILINE)
    program, _, *conditions = shlex.split(line)
    data = Path(botocore.__file__).parent / "data"
    done = subprocess.run([program, data, *conditions], capture_output=True, text=True, check=True)
    deleted = {Path(one).name for one in done.stdout.splitlines()}
    services = {one.name for one in data.iterdir() if one.is_dir()}
    assert deleted < services
    assert {"dynamodb", "dynamodbstreams", "s3"} <= opened_services() <= services - deleted


def test_a_container_with_a_blocked_event_loop_ends() -> None:
    """The server must not be the container's first process, which the kernel would not end."""
    (name,) = re.findall(r"(MARGINALIA_EXIT\w+)=true", IMAGE)
    assert name in variables()
    assert 'ENTRYPOINT ["tini", "--"]' in IMAGE
    assert "--no-install-recommends tini" in IMAGE
