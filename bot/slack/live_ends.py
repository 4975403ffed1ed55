"""How live messages come to their end, also those that a killed process left open."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.agent.entries import Entry
from bot.errors import DeliveryError, DeliveryRefused
from bot.slack.mail import Mail
from bot.slack.progress import MOST_TASKS, Progress, Task, tasks_of
from bot.slack.steps import Describe
from bot.slack.streams import CLOSED, EXPIRED, Form, MessageForm, Spot, StreamForm
from bot.slack.threads import SlackThreads
from bot.storage.deliveries import Deliveries, Delivery, State

log = logging.getLogger(__name__)

MARK = "k"
"""Begins the key of a live message: "k12.0" is the first of the turn that began at position 12."""


@dataclass(frozen=True, slots=True)
class LiveCards:
    """What the live messages of all threads share; `seconds` is how long one is kept open."""

    mail: Mail
    deliveries: Deliveries
    threads: SlackThreads
    describe: Describe
    seconds: float
    stream: StreamForm
    message: MessageForm


async def end(
    cards: LiveCards,
    form: Form,
    spot: Spot,
    ts: str,
    sent: Mapping[str, Task],
    shown: Sequence[Task],
    status: str,
) -> None:
    """Bring the message to its end; what fails is only logged."""
    try:
        await form.end(spot, ts, sent, shown, status)
    except DeliveryRefused as error:
        if error.code == EXPIRED:  # it is an ordinary message now
            await end(cards, cards.message, spot, ts, sent, shown, status)
        elif error.code not in CLOSED:
            log.warning("%s was not ended: %s", spot.key, error)
    except DeliveryError as error:
        log.warning("%s was not ended: %s", spot.key, error)


async def end_left(
    cards: LiveCards, entries: Sequence[Entry], delivery: Delivery, upto: int | None
) -> None:
    """End what a killed process left open, or what may stand there though no answer came.

    It gets the state in which its tasks are now; those from place `upto` of the turn on are not
    its own.
    """
    _, name, first = delivery.pieces
    form: Form = cards.stream if name == cards.stream.name else cards.message
    place, (team, channel, root_ts) = int(first), _thread_of(delivery)
    tasks = tasks_of(entries, start_of(delivery), cards.describe)[:upto]
    shown = [rested(task) for task in tasks[place : place + MOST_TASKS]]
    spot = Spot(channel, root_ts, team, "", delivery.key)
    if delivery.ts is not None:
        sent = {task.id: _uncertain(task) for task in shown}
        await end(cards, form, spot, delivery.ts, sent, shown, "active")
    elif name == cards.stream.name:
        await _end_unseen(cards, spot, delivery)
    await cards.deliveries.end(delivery.key, State.POSTED, delivery.ts)


async def _end_unseen(cards: LiveCards, spot: Spot, delivery: Delivery) -> None:
    """Whether it was begun nobody knows: a stream carries no key before it is stopped."""
    try:
        found = await cards.threads.find_unmarked(f"{spot.team}:{spot.channel}:{spot.thread_ts}")
    except DeliveryError as error:
        log.warning("%s cannot be looked for: %s", delivery.key, error)
        return
    for ts in found:
        try:
            await cards.stream.end(spot, ts, {}, (), "active")
        except DeliveryError as error:  # a file, say, is no stream
            log.info("%s is not at %s: %s", delivery.key, ts, error)


def start_of(delivery: Delivery) -> int:
    """Where the turn of a live message began."""
    return int(delivery.pieces[0][len(MARK) :].partition(".")[0])


def rested(task: Task) -> Task:
    """A task as a message shows it for good."""
    return task if task.over else replace(task, progress=Progress.PENDING)


def _thread_of(delivery: Delivery) -> tuple[str, str, str]:
    team, channel, root_ts = delivery.key.partition("#")[0].split(":", 2)
    return team, channel, root_ts


def _uncertain(task: Task) -> Task:
    """A task as a message may show it of which nobody knows what it shows."""
    return replace(task, title="", progress=Progress.IN_PROGRESS)
