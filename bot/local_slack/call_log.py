"""What the app called, for tests and benchmarks."""

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from bot.local_slack.shapes import Json


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """One call. ``at`` is the stand-in's clock; ``status`` 0 means that no answer was sent."""

    at: float
    method: str
    args: Json
    status: int
    ok: bool
    error: str = ""

    def as_json(self) -> Json:
        """For the control API."""
        return asdict(self)


class CallLog:
    """The latest calls (bounded) and the number of all."""

    def __init__(self, most: int) -> None:
        self._calls: deque[LoggedCall] = deque(maxlen=most)
        self.total = 0

    def add(self, call: LoggedCall) -> None:
        """Note a call."""
        self._calls.append(call)
        self.total += 1

    def clear(self) -> None:
        """Forget what was noted so far."""
        self._calls.clear()
        self.total = 0

    def __iter__(self) -> Iterator[LoggedCall]:
        return iter(tuple(self._calls))

    def __len__(self) -> int:
        return len(self._calls)

    def of(self, method: str) -> list[LoggedCall]:
        """The noted calls of one method, oldest first."""
        return [call for call in self._calls if call.method == method]
