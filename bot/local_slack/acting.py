"""What everything that a person does has in common."""

from collections.abc import Callable
from typing import TypeVar

from bot.local_slack.delivery import Courier, Kind, Outcome
from bot.local_slack.shapes import Json, PersonError, Refusal
from bot.local_slack.world import Channel, Member, World

T = TypeVar("T")
_SENTENCES = {
    "message_not_found": "This message is not there any more.",
    "thread_not_found": "The message that this should answer is not there.",
    "cannot_reply_to_message": "Answer the first message of the thread, not a reply.",
    "already_reacted": "You have put this reaction there already.",
    "no_reaction": "You have no such reaction there.",
}


def plainly(act: Callable[[], T]) -> T:
    """Do it; a refusal of Slack becomes a sentence for the person."""
    try:
        return act()
    except Refusal as refusal:
        sentence = _SENTENCES.get(refusal.word, f"Slack refuses this: {refusal.word}.")
        raise PersonError(sentence) from None


class Acting:
    """One account and the ways in which it reaches the workspace and the app."""

    def __init__(self, world: World, courier: Courier, member: Member) -> None:
        self._world = world
        self._courier = courier
        self.member = member
        self.id = member.id

    async def _ask(self, kind: Kind, payload: Json) -> Outcome:
        """Hand something to the app that it must acknowledge."""
        outcome = await self._courier.ask(kind, payload)
        if not outcome.ok:
            raise PersonError("The app did not answer in time; is it running?")
        return outcome

    def _place(self, channel: str) -> Channel:
        """A channel that this person is in."""
        place = self._world.channel(channel, self.id)
        if self.id not in place.members:
            raise PersonError(f"{self.member.real_name} is not in this channel.")
        return place
