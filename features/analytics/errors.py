"""Errors of the analytics store, and their messages."""

from dal.table.errors import DalError


class AnalyticsUnavailableError(DalError):
    """The analytics store is missing, empty, unreachable, busy or slow. Other queries work."""


class AnalyticsMissingError(AnalyticsUnavailableError):
    """The store is not installed or has no data.

    The message is for operators. Clients get the message NOT_SET_UP instead.
    """


class AnalyticsFailedError(AnalyticsUnavailableError):
    """The store's engine failed.

    Clients get the message AWAY instead, because this message may contain paths and hosts.
    """


NOT_SET_UP = "This server does not offer analytics."
NOT_INSTALLED = (
    "Analytics is not installed: run `.venv/bin/pip install -c constraints.txt -e "
    "'.[analytics]'`, then `marginalia analytics refresh`."
)
NOT_FILLED = "Analytics has no data yet: run `marginalia analytics refresh`."
BUSY = "Analytics is busy: try again in a few seconds."
AWAY = "Analytics is temporarily unavailable: try again later."
SLOW = "Analytics took too long: use a shorter period, or try again later."
