"""The signs of life: an agent session where Slack has it, else a status, else an 👀 reaction.

Source: docs.slack.dev, agents.sessions.setStatus (stays until it is changed, and brings Slack's own
stop button), assistant.threads.setStatus (cleared by the app's next message, else after two
minutes), reactions.add.

Slack takes about 50 calls a minute for sessions: one is shown only where the call that takes it
back has its slot too. Each is written down before it is shown, until it is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from bot import words
from bot.errors import DeliveryError, DeliveryRefused, DeliveryUnknown
from bot.slack.marks import Mark, Marks, Shown
from bot.slack.web import RateLimited, SlackClient, call, read

log = logging.getLogger(__name__)

HIDE_SECONDS = 30.0
"""How long one try to take a sign away goes on."""
REACTION = "eyes"
SESSION = "agents.sessions.setStatus"
STATUS = "assistant.threads.setStatus"
REACT = "reactions.add"
UNREACT = "reactions.remove"
NO_STATUS = frozenset(
    {
        "unknown_method",
        "method_deprecated",
        "missing_scope",
        "not_authorized",
        "not_allowed",
        "not_allowed_token_type",
        "feature_not_enabled",
    }
)
"""What says that this workspace or app has no status at all, rather than not in this thread."""
WORKING = {Shown.SESSION: "processing", Shown.STATUS: words.WORKING}


class Signs:
    """Knows which sign this workspace takes; shared by all threads."""

    def __init__(self, client: SlackClient, silent_seconds: float) -> None:
        self._client, self.silent_seconds = client, silent_seconds
        self._absent: set[Shown] = set()

    @property
    def has_sessions(self) -> bool:
        """False once Slack has said that there are no agent sessions here."""
        return Shown.SESSION not in self._absent

    async def show(self, question: str, marks: Marks) -> Shown:
        """Show that work goes on; returns what was shown."""
        for sign in (Shown.SESSION, Shown.STATUS):
            if sign in self._absent:
                continue
            method, slots = (SESSION, 2) if sign is Shown.SESSION else (STATUS, 1)
            if await self._client.pacer.take(method, slots=slots) > 0:
                continue  # a session needs one to be set back, too
            arguments = _status(marks, WORKING[sign])
            try:
                await self._shown(Mark(sign, "", paid=slots == 2), marks, method, arguments)
                return sign
            except DeliveryRefused as error:
                log.info("no %s here (%s): using another sign", sign.value, error.code)
                if error.code in NO_STATUS:
                    self._absent.add(sign)
            except RateLimited:
                log.info("no %s now: Slack asks to wait", sign.value)
            except DeliveryError:
                return Shown.NOTHING
        return await self._react(question, marks)

    async def hide(self, mark: Mark, marks: Marks) -> bool:
        """Take the sign away; it is tried again for a while. False if it may still be there."""
        method, arguments = SESSION, _status(marks, "active")
        if mark.shown is Shown.STATUS:
            method, arguments = STATUS, _status(marks, "")
        elif mark.shown is Shown.REACTION:
            method, arguments = UNREACT, _reaction(marks, mark.question)
        try:
            await read(self._client, method, arguments, HIDE_SECONDS, slots=not mark.paid)
        except DeliveryRefused as error:  # "no_reaction", say, or the message is gone
            log.info("the %s was not cleared: %s", mark.shown.value, error)
        except DeliveryError as error:
            log.info("the %s could not be cleared yet: %s", mark.shown.value, error)
            return False
        return True

    async def _react(self, question: str, marks: Marks) -> Shown:
        """The reaction, if there are slots now for it and for taking it away."""
        pacer = self._client.pacer
        if await pacer.take(UNREACT) > 0 or await pacer.take(REACT) > 0:
            return Shown.NOTHING
        mark = Mark(Shown.REACTION, question, paid=True)
        try:
            await self._shown(mark, marks, REACT, _reaction(marks, question))
        except DeliveryError:
            return Shown.NOTHING
        return Shown.REACTION

    async def _shown(
        self, mark: Mark, marks: Marks, method: str, arguments: Mapping[str, object]
    ) -> None:
        """Write the sign down and show it; it has its slots. What is in doubt counts as shown.

        Raises DeliveryError if Slack certainly does not show it.
        """
        new = await marks.put(mark)
        try:
            await call(self._client, method, arguments, slots=0)
        except DeliveryUnknown:
            return  # it may be there: it is taken away at the end
        except DeliveryError as error:
            if isinstance(error, DeliveryRefused) and error.code == "already_reacted":
                return
            if new:
                await marks.drop(mark)
            raise


def _reaction(marks: Marks, ts: str) -> Mapping[str, object]:
    return {"channel": marks.channel, "timestamp": ts, "name": REACTION}


def _status(marks: Marks, status: str) -> Mapping[str, object]:
    return {"channel_id": marks.channel, "thread_ts": marks.root_ts, "status": status}
