"""Every error that Treadle raises on purpose, drawn as a map.

    TreadleError                 somebody can act on it; its text is one plain sentence
    ├── ConfigError              the operator: settings, secrets, the host
    ├── StorageError             the operator: the database
    │   ├── DatabaseBusy         another process owns the database file
    │   ├── Fenced               the runner: somebody else wrote this journal; stop at once
    │   └── ItemChanged          the runner: what it read of the inbox is no longer all; read again
    ├── Leaving                  the runner: this process ends; its journal is whole
    ├── JournalUnreadable        the thread: an entry that this release cannot read
    ├── ModelError               the thread: the model gave no usable reply
    │   ├── ModelUnavailable     worth trying again (rate limit, 5xx, no connection, time-out)
    │   ├── ModelRefused         not worth trying again (key, model name, bad request)
    │   └── ContextTooLong       the conversation does not fit the model's window
    ├── BudgetReached            the thread: no more may be used
    ├── DeliveryError            the runner: Slack did not take a message
    │   ├── DeliveryRefused      Slack said no: the same call will fail again
    │   └── DeliveryUnknown      no answer came: the message may or may not stand there
    ├── LookupFailed             the runner: a person could not be looked up; nothing is allowed
    └── NotPermitted             whoever asked: only an admin may change this; nothing was changed

`tools.base.ToolError` is apart: its text is for the model. Anything else is a bug:
a traceback in the log and an id in the thread.
"""

from __future__ import annotations


class TreadleError(Exception):
    """Base of all errors with a text that a person can act on."""


class ConfigError(TreadleError):
    """Settings, secrets or the host are not as needed; the text names every problem at once."""


class StorageError(TreadleError):
    """The database cannot be used."""


class DatabaseBusy(StorageError):
    """Another process owns the database file; the text says which."""


class Fenced(StorageError):
    """The journal moved on under this runner, which must stop without writing anything more."""


class ItemChanged(StorageError):
    """A waiting item was completed after it was read; nothing was written."""


class Leaving(TreadleError):
    """This process is about to end; whoever is next goes on with the thread from its journal."""


class JournalUnreadable(TreadleError):
    """A stored entry has a kind or a version that this release does not know."""


class ModelError(TreadleError):
    """The model gave no usable reply."""

    answered = 0
    """How many calls of which something came: they have to be paid for."""
    tokens = (0, 0)
    """Of their requests and of what came, if the endpoint counted them."""


class ModelUnavailable(ModelError):
    """The endpoint could not answer now; trying later may help."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds the endpoint asked to wait, if it said."""


class ModelRefused(ModelError):
    """The endpoint answered no: trying the same again will not help."""


class ContextTooLong(ModelError):
    """The conversation is longer than the model's window."""


class BudgetReached(TreadleError):
    """A budget has no room for the next call of the model."""


class DeliveryError(TreadleError):
    """Slack did not take a message."""


class DeliveryRefused(DeliveryError):
    """Slack refused the call; `code` is Slack's own error word."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class DeliveryUnknown(DeliveryError):
    """The call was sent and no answer came back."""


class LookupFailed(TreadleError):
    """Who somebody is could not be found out."""


class NotPermitted(TreadleError):
    """Somebody asked for a change that only an admin may make; nothing was changed."""
