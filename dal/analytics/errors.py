"""Why a question about all comments is not answered; each message says what to do."""

from dal.errors import DalError


class AnalyticsUnavailableError(DalError):
    """The analytics store is not installed, not filled, away, or too slow; all else goes on."""


class AnalyticsMissingError(AnalyticsUnavailableError):
    """The store is not installed or not filled; the message is a command: not for clients."""


class AnalyticsFailedError(AnalyticsUnavailableError):
    """The store fails in words of its engine, with its paths and hosts: not for clients."""


NOT_SET_UP = "This server has no analytics store."
NOT_INSTALLED = (
    "Analytics is an extra: install it with `.venv/bin/pip install -c constraints.txt -e "
    "'.[analytics]'`, then run `marginalia analytics refresh`."
)
NOT_FILLED = "Analytics has no data yet: `marginalia analytics refresh` fills it."
BUSY = "Analytics has too many questions to answer: ask again in some seconds."
AWAY = "Analytics is away: ask again later."
SLOW = "Analytics took too long to answer: ask of a shorter time, or again later."
