"""The image holds what the wheel is made of: without Docker, this is what can be checked."""

import tomllib

from tests.engines import ROOT


def test_the_image_copies_every_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    copied = [
        line.split()[1] for line in lines if line.startswith("COPY ") and "--from" not in line
    ]
    assert set(packages) <= set(copied)
    left_out = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert not set(packages) & set(left_out)
