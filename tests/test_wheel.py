"""Which builds of the package are refused, and with which message."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

import pytest

from tests.engines import ROOT


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The build hook. Its base class is faked, because the build library is installed elsewhere."""
    interface = ModuleType("interface")
    interface.__dict__["BuildHookInterface"] = object
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin.interface", interface)
    spec = spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Refusal()


def test_a_wheel_is_refused_in_a_sentence(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MARGINALIA_IMAGE", raising=False)
    with pytest.raises(SystemExit) as refused:
        hook.initialize("standard", {})
    assert str(refused.value).endswith("or a clone with `make setup`.")


def test_a_clone_is_installed_and_so_are_the_image_and_the_function(
    hook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MARGINALIA_IMAGE", raising=False)
    hook.initialize("editable", {})
    monkeypatch.setenv("MARGINALIA_IMAGE", "1")
    hook.initialize("standard", {})
    steps = (ROOT / "Dockerfile").read_text("utf-8")
    assert "RUN MARGINALIA_IMAGE=1 python -m pip --python /opt/marginalia install" in steps
    assert "MARGINALIA_IMAGE=1 $(BIN)/python -m pip wheel" in (ROOT / "Makefile").read_text("utf-8")
