"""The setting of trends and movers."""

from dataclasses import dataclass

from server.option import is_url, setting

_CLICKHOUSE_URL = (is_url, "is not a URL such as http://user:password@127.0.0.1:8123.")


@dataclass(frozen=True, kw_only=True)
class AnalyticsSettings:
    """The setting of trends and movers."""

    analytics_url: str | None = setting(
        None,
        "URL of ClickHouse's HTTP interface, such as http://127.0.0.1:8123. ClickHouse then "
        "computes trends and movers. By default, DuckDB computes them from files in the data "
        "directory.",
        panel="Store",
        check=_CLICKHOUSE_URL,
        secret=True,
    )
