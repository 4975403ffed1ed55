"""What is to be posted next in one thread: its journal against what stands there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.agent.entries import Answered, ApprovalAsked, Entry, Stopped, Told
from bot.slack.card import card_key, permalink, waiting_line
from bot.slack.markdown import RenderedMessage
from bot.slack.outbound import Post, ThreadPosts
from bot.slack.pieces import (
    STEPS_LIMIT,
    Piece,
    PieceKind,
    Verbosity,
    askers,
    is_held_back,
    pieces,
    seq_of,
)
from bot.slack.render import Footer, as_text, final_covers, final_messages
from bot.slack.steps import Describe, steps_message

HOLD_SECONDS = 1.0
"""A call waits this long for its observations, to be one message with them."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a thread's journal is shown; `url` is the workspace's address.

    `answerers` says who may answer questions.
    """

    verbosity: Verbosity
    describe: Describe
    footer: Footer
    url: str
    answerers: str


class Agenda:
    """The posts that a thread lacks, from position `start` on.

    `look` tells it of a journal that has grown.
    """

    def __init__(self, posts: ThreadPosts, manner: Manner, start: int) -> None:
        self._posts, self._manner, self._start = posts, manner, start
        self._entries: Sequence[Entry] = ()
        self._held_since: dict[str, float] = {}
        self._finals: dict[int, tuple[RenderedMessage, ...]] = {}

    def look(self, entries: Sequence[Entry]) -> None:
        """The journal has grown."""
        self._entries = entries

    def advance(self) -> None:
        """Everything up to here stands in the thread: it need not be computed again."""
        self._start = len(self._entries)
        self._held_since.clear()
        self._finals.clear()

    def missing(self) -> list[Piece]:
        """The pieces that are to be shown and are not."""
        found = pieces(self._entries, self._manner.verbosity, self._start)
        over = max((piece.seq for piece in found if self._ends_steps(piece)), default=-1)
        found = [p for p in found if p.kind is PieceKind.FINAL or p.seq > over]
        return [piece for piece in found if not self._is_shown(piece)]

    def ready(self, missing: Sequence[Piece]) -> list[Piece]:
        """What may be posted now.

        A call whose observations are still coming is held, and the rest of an ending, and later
        endings, while a part before it is in doubt.
        """
        over = bool(finals(missing))
        doubted = self._posts.in_doubt()
        found = []
        for piece in missing:
            if piece.kind is PieceKind.CALL and not piece.whole and not over:
                since = self._held_since.setdefault(piece.key, time.monotonic())
                if time.monotonic() - since < HOLD_SECONDS:
                    break
            if piece.kind is PieceKind.FINAL and is_held_back(self._entries, piece.seq, doubted):
                continue
            found.append(piece)
        return found

    def doubts_finals(self) -> bool:
        """Whether something that people wait for may stand there or not."""
        return any(key.startswith("f") for key in self._posts.in_doubt())

    def hold_left(self, missing: Sequence[Piece]) -> float:
        """Seconds until a held call is posted without its observations."""
        held = [self._held_since[p.key] for p in missing if p.key in self._held_since]
        return max(0.0, min(held, default=time.monotonic()) + HOLD_SECONDS - time.monotonic())

    def next_post(self, *, calm: bool) -> Post | None:
        """Steps before the answer where nobody else waits for a slot, else the answer first."""
        ready = self.ready(self.missing())
        endings = finals(ready)
        steps = [piece for piece in ready if piece.kind is not PieceKind.FINAL]
        if endings:
            steps = [piece for piece in steps if piece.seq < endings[0].seq]
        if steps and (calm or not endings):
            return self._steps_post(steps)
        if not endings:
            return None
        posts = self._final_posts(endings[0].seq)
        return next(post for post in posts if not self._posts.stands(post))

    def rebuilt(self, shows: Sequence[str]) -> Post | None:
        """The final post that shows these pieces; None for steps, which are not worth a doubt."""
        key = shows[0]
        if not key.startswith("f"):
            return None
        posts = self._final_posts(seq_of(key))
        return next((post for post in posts if post.shows == tuple(shows)), None)

    def standing(self) -> tuple[int, int]:
        """How many messages of the latest answer stand or may stand, and how many there are."""
        seq = max(i for i, entry in enumerate(self._entries) if isinstance(entry, Answered))
        posts = self._final_posts(seq)
        return sum(self._posts.stands(post) for post in posts), len(posts)

    def _ends_steps(self, piece: Piece) -> bool:
        """After the notice of a stop no step is shown that came before it.

        Nor before it, if it was the delivery that was stopped.
        """
        stop = self._entries[piece.seq]
        return isinstance(stop, Stopped) and (bool(stop.parts) or self._is_shown(piece))

    def _is_shown(self, piece: Piece) -> bool:
        if piece.kind is not PieceKind.FINAL:
            return piece.key in self._posts.shown
        return all(self._posts.stands(post) for post in self._final_posts(piece.seq))

    def _final_posts(self, seq: int) -> list[Post]:
        """The posts of an ending, in order; the last one says which messages it answers."""
        if seq not in self._finals:
            waits = isinstance(self._entries[seq], Told)
            self._finals[seq] = (
                (waiting_line(self._link(seq)),)
                if waits
                else final_messages(self._entries, seq, self._manner.footer, self._manner.answerers)
            )
        posts: list[Post] = []
        for part, message in enumerate(self._finals[seq]):
            key = f"f{seq}.{part}"
            if key in self._posts.refused:
                texts = enumerate(as_text(message))
                posts += [Post((f"{key}~{n}",), text, final=True) for n, text in texts]
            else:
                posts.append(Post((key,), message, final=True))
        return self._owed(seq, posts)

    def _owed(self, seq: int, posts: Sequence[Post]) -> list[Post]:
        """The posts, knowing of each other and of those who wait for them."""
        owed, who = final_covers(self._entries[seq]), askers(self._entries, seq)
        keys = [key for post in posts for key in post.shows]
        last = len(posts) - 1
        return [
            replace(
                post,
                covers=owed if place == last else (),
                askers=who,
                owed=owed,
                rest=tuple(keys[place + 1 :]),
            )
            for place, post in enumerate(posts)
        ]

    def _link(self, seq: int) -> str:
        """The address of the question that was open at this position; "" if it is not known."""
        asked = [i for i in range(seq) if isinstance(self._entries[i], ApprovalAsked)]
        key = card_key(self._entries, asked[-1]) if asked else ""
        ts = self._posts.ts_of.get(key)
        return permalink(self._manner.url, self._posts.channel, self._posts.root_ts, ts or "")

    def _steps_post(self, steps: Sequence[Piece]) -> Post:
        message, shows = steps_message(
            self._entries, steps, self._manner.verbosity, self._manner.describe
        )
        if self._posts.refused.intersection(shows):
            message = as_text(message, STEPS_LIMIT * 2)[0]
        return Post(shows, message)


def finals(found: Sequence[Piece]) -> list[Piece]:
    """Those that people wait for."""
    return [piece for piece in found if piece.kind is PieceKind.FINAL]
