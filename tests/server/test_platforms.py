"""A server on a machine like a Mac, and commands on a machine like one with Windows.

No test runs on these machines. The tests remove what Python lacks there.
"""

import subprocess
import sys
from pathlib import Path

import httpx

from tests.engines import DYNOXIDE, ROOT
from tests.server.serving import environment, served

MAC = """
import errno, os, pathlib, resource, select, signal, socket, sys, time

# For these modules, a Mac has a variant that is not installed here.
import multiprocessing.resource_tracker, psutil, urllib.request, uuid, uvloop, zoneinfo

LACKING = {
    os: '''copy_file_range eventfd eventfd_read eventfd_write fdatasync getrandom getresgid
        getresuid getxattr listxattr memfd_create pidfd_open pipe2 posix_fadvise posix_fallocate
        removexattr sched_getaffinity sched_setaffinity setns setresgid setresuid
        setxattr splice unshare O_DIRECT O_NOATIME O_PATH''',
    resource: '''prlimit RLIMIT_MSGQUEUE RLIMIT_NICE RLIMIT_RTPRIO RLIMIT_RTTIME RLIMIT_SIGPENDING
        RUSAGE_THREAD''',
    select: "epoll",
    signal: '''SIGCLD SIGPOLL SIGPWR SIGRTMAX SIGRTMIN SIGSTKFLT pidfd_send_signal sigtimedwait
        sigwaitinfo''',
    socket: '''AF_NETLINK AF_PACKET AF_VSOCK MSG_NOSIGNAL SOCK_CLOEXEC SOCK_NONBLOCK
        SO_BINDTODEVICE SO_DOMAIN SO_MARK SO_PASSCRED SO_PEERCRED SO_PROTOCOL TCP_CORK
        TCP_DEFER_ACCEPT TCP_LINGER2 TCP_QUICKACK TCP_USER_TIMEOUT''',
    time: "CLOCK_BOOTTIME CLOCK_TAI pthread_getcpuclockid",
}
for module, names in LACKING.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

limits = [256, resource.RLIM_INFINITY]


def setrlimit(which, wanted):
    if not 0 <= wanted[0] <= 10_240:  # macOS compares with kern.maxfilesperproc
        raise ValueError("current limit exceeds maximum limit")
    limits[:] = wanted
    with open(os.environ["LIMIT"], "w") as file:
        print(wanted[0], file=file)


resource.getrlimit, resource.setrlimit = lambda which: tuple(limits), setrlimit

read = pathlib.Path.read_text


def read_text(self, *args, **given):
    if self.parts[:2] == ("/", "proc"):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(self))
    return read(self, *args, **given)


pathlib.Path.read_text = read_text
sys.platform = "darwin"
"""


def test_a_server_starts_without_linuxs_functions_and_its_limit_of_descriptors(
    tmp_path: Path,
) -> None:
    (tmp_path / "sitecustomize.py").write_text(MAC)
    mac = {
        "LIMIT": str(tmp_path / "limit"),
        "MARGINALIA_ENGINE": str(DYNOXIDE),
        "PYTHONPATH": f"{ROOT}:{tmp_path}",
    }
    with served(tmp_path / "data", **mac) as server:
        answer = httpx.post(f"{server.url}/graphql", json={"query": "{ __typename }"}, timeout=60)
        assert answer.json() == {"data": {"__typename": "Query"}}
        assert httpx.get(f"{server.url}/", timeout=60).status_code == httpx.codes.OK
        assert server.end()[0] == 0
    assert int((tmp_path / "limit").read_text()) == 8_192


WINDOWS = """
import sys
sys.modules.update(dict.fromkeys(("fcntl", "grp", "pwd", "resource", "termios", "uvloop")))
from server.cli.main import main
sys.platform = "win32"
main()
"""


def test_on_windows_a_command_and_make_recommend_wsl2() -> None:
    for command in (
        [sys.executable, "-c", WINDOWS],
        ["make", "--no-print-directory", "run", "OS=Windows_NT"],
    ):
        done = subprocess.run(
            command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
        )
        assert (done.returncode != 0, done.stdout) == (True, "")
        (sentence,) = done.stderr.splitlines()
        assert "WSL2" in sentence
