"""The stack, the functions' package and the image have the same two architectures."""

import re
import shlex
import subprocess
from itertools import pairwise
from typing import Any

import pytest
import yaml

from tests.deploy.template import of_type, resources, template
from tests.engines import ROOT

ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
"""AWS's names, and the names in an image's platform."""

MACHINES = {"x86_64": "x86_64", "arm64": "aarch64"}
"""AWS's names, and the names in Python's packages."""

PLATFORMS = ",".join(f"linux/{one}" for one in ARCHITECTURES.values())

_NAME = re.compile(r"(?i)x86|amd64|arm64|aarch64")


def resolved(value: Any, architecture: str) -> Any:
    """Return a value of a resource in a stack with this architecture."""
    if value == {"Ref": "Architecture"}:
        return architecture
    if isinstance(value, dict) and value.get("If", [""])[0] == "Arm":
        assert template()["Conditions"]["Arm"] == {"Equals": [{"Ref": "Architecture"}, "arm64"]}
        return value["If"][1 if architecture == "arm64" else 2]
    return value


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_functions_and_servers_have_the_architecture_of_the_stack(architecture: str) -> None:
    parameter = template()["Parameters"]["Architecture"]
    assert parameter["Default"] in parameter["AllowedValues"] == [*ARCHITECTURES]
    functions = of_type("Lambda::Function")
    assert len(functions) == 2
    for one in functions:
        (found,) = one["Properties"]["Architectures"]
        assert resolved(found, architecture) == architecture
    (task,) = of_type("ECS::TaskDefinition")
    platform = task["Properties"]["RuntimePlatform"]
    assert resolved(platform["CpuArchitecture"], architecture) == architecture.upper()


def test_no_resource_names_an_architecture_by_itself() -> None:
    for name, resource in resources().items():
        chosen = re.sub(r"If:\s+- Arm\s+- ARM64\s+- X86_64", "", yaml.safe_dump(resource))
        assert not _NAME.search(chosen), name


def recipe(**variables: str) -> subprocess.CompletedProcess[str]:
    """Return the commands that ``make function`` would run."""
    given = [f"{name}={value}" for name, value in variables.items()]
    command = ["make", "--dry-run", "--always-make", "function", *given]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_package_is_for_the_chosen_architecture(architecture: str) -> None:
    words = shlex.split(recipe(ARCHITECTURE=architecture).stdout.replace("\\\n", " "))
    platforms = [after for word, after in pairwise(words) if word == "--platform"]
    machine = MACHINES[architecture]
    assert platforms == [f"manylinux2014_{machine}", f"manylinux_2_28_{machine}"]
    usual = recipe().stdout
    assert (usual == recipe(ARCHITECTURE=architecture).stdout) is (
        architecture == template()["Parameters"]["Architecture"]["Default"]
    )


def test_another_architecture_is_refused() -> None:
    refused = recipe(ARCHITECTURE="riscv64")
    assert refused.returncode != 0
    assert "ARCHITECTURE is x86_64 or arm64" in refused.stderr


def test_the_package_and_the_functions_have_the_same_python() -> None:
    runtimes = {one["Properties"]["Runtime"] for one in of_type("Lambda::Function")}
    (version,) = re.findall(r"--python-version (\S+)", (ROOT / "Makefile").read_text("utf-8"))
    assert runtimes == {f"python{version}"}


def test_the_published_image_has_both_platforms_and_the_dockerfile_none() -> None:
    text = (ROOT / ".github/workflows/publish.yaml").read_text("utf-8")
    (job,) = yaml.safe_load(text)["jobs"].values()
    (build,) = [one for one in job["steps"] if "build-push" in one.get("uses", "")]
    assert build["with"]["platforms"] == PLATFORMS
    arguments = {one["engine"] for one in job["strategy"]["matrix"]["include"]}
    assert arguments == {"", "none"}
    assert len(_NAME.findall(text)) == len(ARCHITECTURES)
    steps = [
        line for line in (ROOT / "Dockerfile").read_text("utf-8").splitlines() if "FROM" in line
    ]
    assert not any("platform" in line for line in steps)


@pytest.mark.parametrize("page", ["amazon.md", "containers.md"])
def test_pages_build_images_for_both_platforms(page: str) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    assert set(re.findall(r"--platform (\S+)", text)) == {PLATFORMS}
