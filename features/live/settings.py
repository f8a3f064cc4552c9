"""The setting of live comments."""

from dataclasses import dataclass

from server.option import setting, split


def _is_redis_url(text: str) -> bool:
    parts = split(text)
    path = parts.path.strip("/")
    if parts.scheme == "unix":
        return bool(path)
    database = not path or path.isdecimal()
    return parts.scheme in {"redis", "rediss"} and bool(parts.hostname) and database


_REDIS_URL = (
    _is_redis_url,
    "is not a URL such as redis://127.0.0.1:6379/0, rediss://host:6379 or unix:///run/redis.sock.",
)


@dataclass(frozen=True, kw_only=True)
class LiveSettings:
    """The setting of live comments."""

    redis_url: str | None = setting(
        None,
        "URL of Redis, such as redis://127.0.0.1:6379/0. All workers and servers of a table use it "
        "to send changes to subscribers. Without Redis, a server with several workers refuses "
        "subscriptions. If the URL has a password, set the environment variable instead, because "
        "other users of the machine can see options.",
        panel="Store",
        check=_REDIS_URL,
        secret=True,
    )
