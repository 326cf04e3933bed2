"""One score from several channels, and what stands around a passage of history (SPEC R1, DESIGN §5).

    words · vectors · bridge ─▶ weighted sum ─▶ × speaker × time asked ─▶ + session ─▶ + turns beside

A turn alone says little: the answer stands beside the question it answers. Every part is kept under its name, so that a
score can be taken apart again (SPEC R10).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from jiyi.domain.memory import Message


@dataclass(frozen=True, slots=True)
class FusionPolicy:
    """Weights of the fusion, tuned on developer halves of public conversations only (decision 0021).

    Scores of a channel are shares of its best one, so a weight is what the best hit of the channel counts for.
    """

    words: float = 1.0
    # Vectors beside words; without vectors the words decide alone.
    vectors: float = 0.5
    # Another name of what was asked for, or another form of the word; a word that points at the same matter.
    same_word: float = 0.5
    near_word: float = 0.2
    # So many other words at the most: each is one more list to read.
    wider_words: int = 24
    # What a word counts for that stands outside the question itself, in the talk around it.
    beside_question: float = 0.3
    # Turns of a speaker whom the question names. More would bring their greetings up.
    speaker: float = 0.2
    # What was said in the time that the question names, or told within the days after it.
    in_time: float = 1.0
    time_slack: timedelta = timedelta(days=7)
    # The best turn of the session stands for what the session is about.
    session: float = 0.3
    # The stronger of the two turns beside, and of the two next to them, where people talk with each other.
    beside: float = 0.45
    beyond: float = 0.2
    # More for a turn that follows a question: it is the answer.
    answer: float = 0.4
    # Candidates read from the index, and how many of the best have their neighbours read as well.
    hits: int = 128
    around: int = 40
    # A short statement that answers one half of a question names what the other half is about: its rare words are looked
    # for as well. Above so many letters (a Chinese character counts as two) a turn names too much.
    bridge: float = 0.3
    bridge_letters: int = 50
    bridge_turns: int = 3
    bridge_words: int = 6
    # A word is rare when no more than this share of the turns holds it.
    bridge_share: float = 0.02


class Place(NamedTuple):
    """Where a message stands, without its text. A tuple, because a recall reads some two hundred of them.

    `voice` is who said it, by name or role; `asks`: it ends with a question.
    """

    seq: int
    session: str
    voice: str
    at: datetime
    asks: bool


ASKS_WITHIN = 24
"""A question mark among so many last characters of a text: after it there is room for a smile or a thank-you."""


def place_of(message: Message) -> Place:
    end = message.text[-ASKS_WITHIN:]
    voice = message.role.value if message.name is None else message.name
    return Place(message.seq, message.session, voice, message.at, "?" in end or "？" in end)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a passage's score is made of; `total` is their sum. `beside` is the turn that lends most."""

    own: float
    session: float
    neighbours: float
    beside: int | None = None
    spoken: bool = False
    timely: bool = False

    @property
    def total(self) -> float:
        return self.own + self.session + self.neighbours


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question names besides words: folded names of speakers, and stretches of time."""

    voices: Collection[str] = ()
    times: Sequence[tuple[datetime, datetime]] = ()


def fuse(channels: Sequence[tuple[Mapping[int, float], float]]) -> dict[int, float]:
    """The weighted sum of channels, each as shares of its best score."""
    fused: dict[int, float] = {}
    for scores, weight in channels:
        best = max(scores.values(), default=0.0)
        if best > 0 and weight > 0:
            for seq, score in scores.items():
                fused[seq] = fused.get(seq, 0.0) + weight * score / best
    return fused


def neighbours(scores: Mapping[int, float], policy: FusionPolicy) -> set[int]:
    """The numbers around the best candidates, whose turns may answer them without a word in common."""
    best = sorted(scores, key=lambda seq: (-scores[seq], -seq))[: policy.around]
    return {near for seq in best for near in (seq - 2, seq - 1, seq + 1, seq + 2) if near > 0}


def surrounded(
    scores: Mapping[int, float], places: Mapping[int, Place], asked: Asked, policy: FusionPolicy
) -> dict[int, Parts]:
    """The candidates and the turns around them, with what speaker, time, session and neighbours add."""
    own, marks, sessions = dict[int, float](), dict[int, tuple[bool, bool]](), dict[str, float]()
    for seq, place in places.items():
        score = scores.get(seq, 0.0)
        spoken, timely = place.voice in asked.voices, _timely(place.at, asked.times, policy.time_slack)
        score *= (1 + policy.speaker * spoken) * (1 + policy.in_time * timely)
        own[seq], marks[seq] = score, (spoken, timely)
        sessions[place.session] = max(sessions.get(place.session, 0.0), score)
    found = {}
    for seq, place in places.items():
        lent, beside = _lent(place, own, places, sessions[place.session], policy)
        found[seq] = Parts(own[seq], policy.session * sessions[place.session], lent, beside, *marks[seq])
    return found


def _timely(at: datetime, times: Sequence[tuple[datetime, datetime]], slack: timedelta) -> bool:
    return any(start <= at < end + slack for start, end in times)


def _lent(
    place: Place, own: Mapping[int, float], places: Mapping[int, Place], session: float, policy: FusionPolicy
) -> tuple[float, int | None]:
    """What the turns beside lend to this one, and which of them lends most. A monologue lends nothing: what stands
    beside a remark in a list of remarks is about something else."""
    around = [
        other for step in (-2, -1, 1, 2)
        if (other := places.get(place.seq + step)) is not None and other.session == place.session
    ]  # fmt: skip
    if all(other.voice == place.voice for other in around):
        return 0.0, None
    total, strongest, lender = 0.0, 0.0, None
    for distance, weight in ((1, policy.beside), (2, policy.beyond)):
        best = 0.0
        for other in around:
            if abs(other.seq - place.seq) == distance:
                lent = weight * (own[other.seq] + policy.session * session)
                if other.asks and other.seq == place.seq - 1:
                    lent *= 1 + policy.answer
                if own[other.seq] > 0 and lent > strongest:
                    strongest, lender = lent, other.seq
                best = max(best, lent)
        total += best
    return total, lender
