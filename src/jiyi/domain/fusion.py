"""One score from several channels, and what stands around a passage of history (SPEC R1, DESIGN §5).

    words · vectors · bridge ─▶ weighted sum ─▶ × time asked ─▶ + session ─▶ + turns beside ─▶ × speaker

A turn alone says little: the answer stands beside the question it answers. Every part is kept under its name, so that a
score can be taken apart again (SPEC R10).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import log2
from typing import NamedTuple

from jiyi.domain.encoding import micros
from jiyi.domain.memory import Message


@dataclass(frozen=True, slots=True)
class FusionPolicy:
    """Weights of the fusion, tuned on developer halves of public conversations only (decision 0021).

    Scores of a channel are shares of its best one, so a weight is what the best hit of the channel counts for.
    """

    words: float = 1.0
    # Vectors beside words; without vectors the words decide alone.
    vectors: float = 0.6
    # So many nearest turns are candidates.
    near: int = 256
    # Below it two texts have nothing to do with each other. Some models put everything nearer than that.
    min_cosine: float = 0.05
    # Another name of what was asked for, or another form of the word; a word that points at the same matter.
    same_word: float = 0.5
    near_word: float = 0.2
    # The word that an unknown one nearly is.
    misspelt: float = 0.6
    # A thing of the kind that is asked for (cello for instrument), and how many of those that were named here.
    kind_word: float = 0.3
    kind_words: int = 12
    # So many other words at the most: each is one more list to read.
    wider_words: int = 24
    # What a word counts for that stands in the talk around a question; and where it is said that this is the question, so
    # that the talk is beside the point.
    around_question: float = 0.3
    beside_question: float = 0.1
    # What a word counts for that was said last in a talk which is handed over whole.
    said_last: float = 2.0
    # Turns of a speaker whom the question names, for what they hold and for what stands around them alike. More would bring
    # their greetings up.
    speaker: float = 0.25
    # What was said in the time that the question names, or told within the days after it.
    in_time: float = 1.5
    time_slack: timedelta = timedelta(days=7)
    # What was said in the time that the question names may answer it without a word of it, when that time is no longer than
    # this; so many turns of it. Beside words that are found only in a talk: in a list of remarks it lowered what was tuned on.
    said_then: float = 0.3
    then_at_most: timedelta = timedelta(days=8)
    then_turns: int = 64
    # The best turn of the session stands for what the session is about, where people talk in it.
    session: float = 0.3
    # The stronger of the two turns beside, and of the two next to them, where people talk with each other.
    beside: float = 0.55
    beyond: float = 0.25
    # More for a turn that follows a question: it is the answer. Less for one that asks: it tells little.
    answer: float = 0.6
    asking: float = 0.1
    # In a talk, more for each doubling of a turn's size, less for each halving: a word of thanks tells nothing.
    size: float = 0.06
    # An assistant's turn that holds no word of the question needs so many words that tell something, beyond those of having
    # heard; after a question one is an answer.
    telling: int = 2
    # More for a turn that holds something of the kind that is asked for (a time, where it is asked when), among so many of the best.
    expected: float = 0.3
    rescored: int = 64
    # Candidates read from the index, and how many of the best have their neighbours read as well. Twice as many found
    # nothing more.
    hits: int = 64
    around: int = 16
    # A word that more than this share of the turns holds selects none, as long as two others do, and another word for one
    # asked for is not looked for at all when it is more frequent than that: long lists to read, and little told.
    frequent: float = 0.10
    wider_share: float = 0.02
    # Entries of the index that one search reads, the rarest words first. Bounds the time of a search in a long history.
    entries: int = 4000
    # What does not select still weighs among the candidates: frequent words, and stop words with this weight (我, before).
    stop_words: float = 0.3
    # The same in a talk that is handed over: most of them are of what led to the question.
    stop_words_of_talk: float = 0.15
    weighed: int = 48
    # A short statement that answers one half of a question names what the other half is about: its rare words are looked
    # for as well. Above so many letters (a Chinese character counts as two) a turn names too much.
    bridge: float = 0.3
    # The same where the rare word names a person ("my cousin"): whoever it is is whom the other half is about.
    bridge_person: float = 1.0
    bridge_letters: int = 50
    bridge_turns: int = 3
    bridge_words: int = 6
    # A word is rare when no more than this share of the turns holds it.
    bridge_share: float = 0.02


class Place(NamedTuple):
    """Where a message stands, without its text. A tuple, because a recall reads some two hundred of them.

    `at`: microseconds since 1970. `voice` is who said it, by name or role; `asks`: it ends with a question; `size`: bytes of
    its text in UTF-8.
    """

    seq: int
    session: str
    voice: str
    at: int
    asks: bool
    size: int


MICROSECOND = timedelta(microseconds=1)
SHORT, USUAL, LONG = 16, 64, 256
"""Bytes of a turn: below and above these a size tells nothing more."""
ASKS_WITHIN = 24
"""A question mark among so many last characters of a text: after it there is room for a smile or a thank-you."""


def place_of(message: Message) -> Place:
    end = message.text[-ASKS_WITHIN:]
    voice = message.role.value if message.name is None else message.name
    asks, size = "?" in end or "？" in end, len(message.text.encode("utf-8", "replace"))
    return Place(message.seq, message.session, voice, micros(message.at), asks, size)


class Parts(NamedTuple):
    """What a passage's score is made of; `total` is their sum. `beside` is the turn that lends most, `expected` what
    a turn has more that holds something of the kind that is asked for."""

    own: float
    session: float
    neighbours: float
    beside: int | None = None
    spoken: bool = False
    timely: bool = False
    expected: float = 0.0

    @property
    def total(self) -> float:
        return self.own + self.session + self.neighbours + self.expected


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question names besides words: voices as they are written in places, and stretches of time."""

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
    best = best_of(scores, policy.around)
    return {near for seq in best for near in (seq - 2, seq - 1, seq + 1, seq + 2) if near > 0}


def best_of(scores: Mapping[int, float], count: int, *, places: int | None = None) -> list[int]:
    """The numbers with the best scores, best first; of equal ones the higher number.

    Args:
        places: scores that are the same in so many decimal places are equal.
    """
    if len(scores) > count > 0:
        # Sorting numbers is quick, rounding them and sorting pairs is not: that is for those that may be among the best.
        least = sorted(scores.values())[-count] - (0.0 if places is None else 2 * 10.0**-places)
        scores = {seq: score for seq, score in scores.items() if score >= least}
    pairs = [(score if places is None else round(score, places), seq) for seq, score in scores.items()]
    pairs.sort(reverse=True)
    return [seq for _, seq in pairs[:count]]


class Surroundings:
    """Candidates and the turns around them, and what speaker, time, session and neighbours add to each."""

    __slots__ = ("_asked", "_own", "_places", "_policy", "_scores", "_sessions", "_talks", "_times")

    def __init__(
        self, scores: Mapping[int, float], places: Mapping[int, Place], asked: Asked, policy: FusionPolicy
    ) -> None:
        self._scores, self._places, self._asked, self._policy = scores, places, asked, policy
        slack = policy.time_slack // MICROSECOND
        self._times = [(micros(start), micros(end) + slack) for start, end in asked.times]
        own, sessions, voices = dict.fromkeys(places, 0.0), dict[str, float](), dict[str, str]()
        talks = set[str]()
        for _, session, voice, _, _, _ in places.values():
            if voices.setdefault(session, voice) != voice:
                talks.add(session)
        for seq, score in scores.items():
            place = places.get(seq)
            if place is None or not score:
                continue
            if self._timely(place.at):
                score *= 1 + policy.in_time
            own[seq] = score
            if talks and score > sessions.get(place.session, 0.0):
                sessions[place.session] = score
        self._own, self._sessions, self._talks = own, sessions, talks

    def totals(self, *, lent: bool) -> dict[int, float]:
        """What the parts of each candidate come to, by number. `lent`: also of turns that hold nothing of the question
        themselves, where a turn beside lends them something."""
        own, sessions, talks, scores, telling = self._own, self._sessions, self._talks, self._scores, self._telling
        totals = dict[int, float]()
        for seq, place in self._places.items():
            if place.session not in talks:
                if seq in scores:
                    totals[seq] = own[seq] * telling(place)
                continue
            session = self._policy.session * sessions.get(place.session, 0.0)
            borrowed, lender = self._lent(seq, session)
            if seq in scores or (lent and lender is not None):
                totals[seq] = (own[seq] + session + borrowed) * telling(place)
        return totals

    def parts(self, seq: int) -> Parts:
        place = self._places[seq]
        session = self._session(place)
        lent, beside = self._lent(seq, session)
        telling, spoken = self._telling(place), self._spoken(place)
        own, session, lent = self._own[seq] * telling, session * telling, lent * telling
        return Parts(own, session, lent, beside, spoken, self._timely(place.at))

    def _session(self, place: Place) -> float:
        """What its session adds to a turn. A list of one person's remarks is about as many things as it has remarks."""
        return self._policy.session * self._sessions.get(place.session, 0.0) if place.session in self._talks else 0.0

    def _telling(self, place: Place) -> float:
        """How likely a turn is to tell what is asked, by its shape and by who said it."""
        policy, share = self._policy, 1.0
        if place.session in self._talks and policy.size:
            share += policy.size * log2(min(max(place.size, SHORT), LONG) / USUAL)
        return share * (1 - policy.asking * place.asks) * (1 + policy.speaker * self._spoken(place))

    def _spoken(self, place: Place) -> bool:
        return place.voice in self._asked.voices

    def _timely(self, at: int) -> bool:
        return bool(self._times) and any(start <= at < end for start, end in self._times)

    def _lent(self, seq: int, session: float) -> tuple[float, int | None]:
        """What the turns beside lend to this one, and which of them lends most. A monologue lends nothing: what stands
        beside a remark in a list of remarks is about something else."""
        places, policy, place = self._places, self._policy, self._places[seq]
        if place.session not in self._talks:
            return 0.0, None
        strongest, lender, talk = 0.0, None, False
        lent = [0.0, 0.0, 0.0]
        for step in (-1, 1, -2, 2):
            other = places.get(seq + step)
            if other is None or other.session != place.session:
                continue
            talk = talk or other.voice != place.voice
            own, distance = self._own[seq + step], abs(step)
            share = (policy.beside if distance == 1 else policy.beyond) * (own + session)
            if step == -1 and other.asks:
                share *= 1 + policy.answer
            if share > lent[distance]:
                lent[distance] = share
            if own > 0 and share > strongest:
                strongest, lender = share, seq + step
        return (lent[1] + lent[2], lender) if talk else (0.0, None)
