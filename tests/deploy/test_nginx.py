"""nginx accepts ``deploy/nginx.conf``. It fits the server and compose.yaml."""

import re
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from features.live.subscriptions import KEEP_ALIVE
from features.live.websocket import PING_EVERY
from server.http.admission import LONGEST
from server.http.connections import MAX_HEAD, SEND_TIMEOUT
from server.http.errors import failure
from server.http.request import MAX_BODY
from server.settings import RATE_LIMIT, Settings
from tests.deploy.nginx import FILE, PROGRAM, Ports, make_certificate, write_configuration
from tests.engines import ROOT

TEXT = FILE.read_text("utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))


def value(name: str) -> str:
    """Return the only value of a directive."""
    (found,) = re.findall(rf"^ *{name} +(.*);$", TEXT, re.MULTILINE)
    return str(found)


def seconds(name: str) -> float:
    """Return the only value of a directive that is a time."""
    return float(value(name).removesuffix("s"))


def test_nginx_accepts_the_file_and_the_certificate_of_the_documentation(tmp_path: Path) -> None:
    if PROGRAM is None:
        pytest.skip("no nginx here: Debian's nginx-light has it")
    make_certificate(tmp_path)
    command = write_configuration(tmp_path, ("127.0.0.1:1", "127.0.0.1:2"), Ports(3, 4), {})
    done = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_nginx_has_the_limits_of_the_server() -> None:
    settings = Settings()
    count, size = value("large_client_header_buffers").split()
    (rate,) = re.findall(r"rate=(\d+)r/s", TEXT)
    assert int(value("client_max_body_size")) == MAX_BODY
    assert int(count) * int(size.removesuffix("k")) * 1024 == MAX_HEAD
    assert seconds("client_header_timeout") == settings.request_timeout
    assert seconds("client_body_timeout") == settings.request_timeout
    assert seconds("send_timeout") == SEND_TIMEOUT
    assert f"{rate}/s" == RATE_LIMIT


def test_nginx_waits_longer_than_subscriptions_and_requests_take() -> None:
    assert seconds("proxy_read_timeout") > max(
        KEEP_ALIVE, PING_EVERY, LONGEST + Settings().deadline
    )


def test_nginx_closes_idle_connections_before_the_server() -> None:
    assert seconds("keepalive_timeout") < Settings().keep_alive


def test_errors_of_nginx_have_the_codes_of_the_server() -> None:
    answers = {
        int(status): orjson.loads(body)
        for status, body in re.findall(r"return (\d+) '(.+)';", TEXT)
    }
    assert answers.keys() == {413, 429, 503}
    for status, answer in answers.items():
        assert answer == orjson.loads(failure(status, answer["errors"][0]["message"]).body)
    assert f"{MAX_BODY:,}" in answers[413]["errors"][0]["message"]


def mounts() -> dict[str, str]:
    """Return the files and directories that compose.yaml mounts for nginx, by their place there."""
    found = {}
    for one in COMPOSE["services"]["proxy"]["volumes"]:
        source, place, _ = (
            one.split(":") if isinstance(one, str) else (one["source"], one["target"], "")
        )
        found[place] = source.removeprefix("./")
    return found


def test_compose_mounts_the_file_and_the_certificate(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    assert set(mounts().values()) == {"deploy/nginx.conf", "tls"}
    for directive in ("ssl_certificate", "ssl_certificate_key"):
        path = Path(value(directive))
        assert (tmp_path / mounts()[str(path.parent)] / path.name).is_file()


def test_nginx_may_write_to_its_cache_in_compose() -> None:
    assert value("proxy_cache_path").split()[0] in COMPOSE["services"]["proxy"]["tmpfs"]


def address(service: dict[str, Any]) -> str:
    """Return the fixed address of a service in compose.yaml."""
    return str(service["networks"]["default"]["ipv4_address"])


def test_the_names_and_addresses_in_compose_and_nginx_are_equal() -> None:
    services = COMPOSE["services"]
    names = re.findall(r"^ +server (\S+):8000;", TEXT, re.MULTILINE)
    assert names == list(services["proxy"]["depends_on"])
    addresses = [address(services[name]) for name in [*names, "proxy"]]
    assert len(set(addresses)) == len(addresses)
    for name in names:
        trusted = services[name]["environment"]["MARGINALIA_TRUSTED_PROXY"]
        assert trusted == address(services["proxy"])
    (port,) = services["proxy"]["ports"]
    assert f"listen {port.split(':')[-1]} ssl http2;" in TEXT
