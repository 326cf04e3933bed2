"""Vectors as a view: texts are embedded behind the scenes, in batches, and found by meaning (SPEC R11).

    what is missing ─▶ embed, outside every transaction ─▶ add what is still the same ─▶ again, until nothing is missing
                                                                                      └▶ drop the sets of other models

Embedding is never waited for: what has no vector yet is found by its words. When the model changes, the set of the former one
answers until the new one is whole; no search ever compares vectors of two models.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import islice

from jiyi.domain.forgetting import Erased
from jiyi.domain.memory import Memory, Message, Role
from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary
from jiyi.domain.vectors import Neighbour, Vector, VectorSet, cosine, quantise
from jiyi.errors import ModelError, ModelRefused
from jiyi.ports import Check, Discerning, Embedder, Job, Kind, Lane, Store, Unit, View
from jiyi.settings import EmbeddingPolicy
from jiyi.text.voice import Voice

log = logging.getLogger("jiyi.vectors")

EMBED_SOON, EMBED = "embed soon", "embed"
"""Kinds of jobs: the first comes from the schedule, so that many changes ask once, and puts the second into the slow lane."""
AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)
LOOK = 500
"""Messages looked through in one step."""


@dataclass(frozen=True, slots=True)
class VectorView(View):
    """Vectors as a view that forgetting and every change of a text reaches. `wanted` tells whether something embeds."""

    wanted: bool = False

    @property
    def name(self) -> str:
        return "vectors"

    def request(self, unit: Unit, scope: Scope) -> None:
        """Some text of the scope may have no vector: have it embedded soon."""
        if self.wanted:
            unit.schedule.sooner(scope, EMBED_SOON, AT_ONCE)

    def outdated(self, unit: Unit, scope: Scope, kind: Kind, seqs: Collection[int]) -> None:
        """These texts are gone or read otherwise now."""
        unit.vectors.remove(scope, kind, seqs)

    def erase(self, unit: Unit, scope: Scope, erased: Erased) -> int:
        """All vectors of the texts go, and those of the turns that were embedded with them; what is left of a message is
        embedded again. Summaries go with their own view."""
        said = {b.before.seq: b.before for b in erased.messages}
        following = unit.messages.get(scope, [seq + 1 for seq in said])
        after = [m.seq for m in following if m.seq not in said and answers(m, said[m.seq - 1])]
        gone = unit.vectors.remove(scope, Kind.MEMORY, [m.seq for m in erased.memories])
        gone += unit.vectors.remove(scope, Kind.MESSAGE, [*said, *after])
        left = after + [b.after.seq for b in erased.messages if not b.after.forgotten]
        for held in unit.vectors.sets(scope) if left else ():
            mark = unit.vectors.embedded_up_to(scope, held.model)
            unit.vectors.mark_embedded_up_to(scope, held.model, min(mark, min(left) - 1))
        self.request(unit, scope)
        return gone

    def rebuild(self, unit: Unit, scope: Scope) -> int:
        """Every set goes, and the job makes the current one again."""
        for held in unit.vectors.sets(scope):
            unit.vectors.drop(scope, held.model)
        self.request(unit, scope)
        return 0


# ---------------------------------------------------------------------------------- the job


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts of one kind to embed, by number. Messages are looked through up to `upto`."""

    kind: Kind
    texts: Mapping[int, str]
    upto: int | None = None


class Embedding:
    """The embedder in use, and those that made the sets it replaces. Built once, serves all threads."""

    def __init__(
        self, current: Embedder, policy: EmbeddingPolicy, voice: Voice, former: Sequence[Embedder] = ()
    ) -> None:
        self.current, self.policy, self.voice = current, policy, voice
        self._known = {e.name: e for e in (*former, current)}
        self.asked = lru_cache(maxsize=64)(self._ask)
        self._sides = cache(self._sides_of)

    @property
    def lease(self) -> timedelta:
        """As long as one batch can take at the most."""
        return timedelta(seconds=2 * self.policy.deadline_seconds + 60)

    def close(self) -> None:
        for embedder in self._known.values():
            embedder.close()

    # ------------------------------------------------------------------ asking

    def answering(self, unit: Unit, scope: Scope) -> VectorSet | None:
        """The vectors that a search compares: the eldest set whose model can still be asked."""
        return next((s for s in unit.vectors.sets(scope) if s.model in self._known), None)

    def _ask(self, model: str, text: str) -> Vector:
        return quantise(self._known[model].query(text).tolist())

    def put(self, question: str) -> str:
        """A question as it is embedded: as the user would say it, of a long one the end."""
        return self.voice(" ".join(question.split()))[-self.policy.max_chars :]

    def leaning(self, unit: Unit, scope: Scope, question: str) -> float | None:
        """How much nearer a question is to what anybody asks of the world than to what is asked of one's own life and work; None
        where the model was not measured so."""
        text, there = self.put(question), self.answering(unit, scope)
        if there is None or not any(c.isalnum() for c in text):
            return None
        sides = self._sides(there.model)
        if sides is None:
            return None
        asked = self.asked(there.model, text)
        world, own = (cosine(asked, side) for side in sides)
        return world - own

    def _sides_of(self, model: str) -> tuple[Vector, Vector] | None:
        embedder = self._known[model]
        if not isinstance(embedder, Discerning):
            return None
        world, own = (quantise(side.tolist()) for side in embedder.sides())
        return world, own

    # ------------------------------------------------------------------ embedding

    def think(self, store: Store, job: Job, now: datetime) -> Callable[[Unit, Job, datetime], None]:
        """Embed one batch of what is missing; gives what is to be done with it, inside a transaction.

        Raises:
            ModelError: the embedder did not answer. The job is tried again or given up with the reason.
        """
        batch = store.view(lambda unit: self._missing(unit, job.scope))
        if batch is None:
            return self._whole
        rows = self.current.documents(list(batch.texts.values())).tolist() if batch.texts else []
        vectors = dict(zip(batch.texts, map(quantise, rows), strict=True))

        def write(unit: Unit, job: Job, now: datetime) -> None:
            self._add(unit, job.scope, batch, vectors)
            unit.jobs.put(job.scope, EMBED, {}, now, lane=Lane.SLOW)

        return write

    def _missing(self, unit: Unit, scope: Scope) -> Batch | None:
        """The next texts without a vector of the current model: memories, then summaries, then messages in their order."""
        for kind, found in self._lacking(unit, scope):
            if texts := dict(islice(self._texts(found), self.policy.batch)):
                return Batch(kind, texts)
        mark = unit.vectors.embedded_up_to(scope, self.current.name)
        messages = unit.messages.after_seq(scope, mark, LOOK)
        if not messages:
            return None
        held = unit.vectors.held(scope, Kind.MESSAGE, self.current.name)
        lacking = ((seq, text) for seq, text in self._turns(unit, scope, messages) if seq not in held)
        texts = dict(islice(lacking, self.policy.batch))
        whole = len(texts) < self.policy.batch
        return Batch(Kind.MESSAGE, texts, messages[-1].seq if whole else max(texts))

    def _lacking(self, unit: Unit, scope: Scope) -> Iterator[tuple[Kind, Iterator[Memory | SessionSummary]]]:
        held = unit.vectors.held(scope, Kind.MEMORY, self.current.name)
        seqs = [seq for seq in unit.memories.numbers(scope) if seq not in held]
        steps = (unit.memories.get(scope, seqs[n : n + LOOK]) for n in range(0, len(seqs), LOOK))
        yield Kind.MEMORY, (memory for step in steps for memory in step)
        held = unit.vectors.held(scope, Kind.SUMMARY, self.current.name)
        yield Kind.SUMMARY, (s for s in unit.summaries.listing(scope) if s.seq not in held)

    def _texts(self, items: Iterable[Memory | SessionSummary | Message]) -> Iterator[tuple[int, str]]:
        """What is embedded of each: what was said as it was said, what was written about the user in their own words. Nothing without a letter or digit has a meaning to embed."""
        for item in items:
            text = embedded_text(item)
            text = (text if isinstance(item, Message) else self.voice(text))[: self.policy.max_chars]
            if any(c.isalnum() for c in text):
                yield item.seq, text

    def _turns(self, unit: Unit, scope: Scope, messages: Sequence[Message]) -> Iterator[tuple[int, str]]:
        """What is embedded of each turn: the end of what it answers, and itself."""
        said, most = {m.seq: m for m in messages}, self.policy.before_chars
        said |= {m.seq: m for m in unit.messages.get(scope, {m.seq - 1 for m in messages} - said.keys())}
        for seq, text in self._texts(messages):
            before = said.get(seq - 1)
            lead = before.text[-most:] if most and before is not None and answers(said[seq], before) else ""
            yield seq, f"{lead}\n{text}" if lead else text

    def _add(self, unit: Unit, scope: Scope, batch: Batch, vectors: Mapping[int, Vector]) -> None:
        """Keep the vectors of texts that are still the same, and note how far the messages have them."""
        model = self.current.name
        dimension = next((v.dimension for v in vectors.values()), 0) or self.current.dimension
        for own in unit.vectors.sets(scope):
            if own.model == model and own.dimension != dimension:
                raise ModelRefused(_another(own, dimension))
        unit.vectors.begin(scope, model, dimension)
        items = _items(unit, scope, batch.kind, list(batch.texts))
        turns = [item for item in items if isinstance(item, Message)]
        there = dict(self._turns(unit, scope, turns) if turns else self._texts(items))
        same = {seq: v for seq, v in vectors.items() if there.get(seq) == batch.texts[seq]}
        unit.vectors.add(scope, batch.kind, model, same)
        if batch.upto is not None and len(same) == len(vectors):
            unit.vectors.mark_embedded_up_to(scope, model, batch.upto)

    def _whole(self, unit: Unit, job: Job, now: datetime) -> None:
        """Nothing is missing: sets of other models have served their time. What came in meanwhile asks for a job of its own."""
        if self._missing(unit, job.scope) is not None:
            unit.jobs.put(job.scope, EMBED, {}, now, lane=Lane.SLOW)
            return
        for held in unit.vectors.sets(job.scope):
            if held.model != self.current.name:
                unit.vectors.drop(job.scope, held.model)

    # ------------------------------------------------------------------ looking after

    def probe(self) -> Check:
        """Embed a word: does the embedder answer?"""
        name = self.current.name
        try:
            dimension = len(self.current.query("记忆"))
        except ModelError as error:
            fix = "correct [embedding] in jiyi.toml, or the variable that holds the key"
            return Check("embedder", False, str(error), fix)
        return Check("embedder", True, f"{name} answers with {dimension} numbers")

    def check(self, unit: Unit) -> Check:
        """Whether everything is embedded. Words find what is not, so that is no fault."""
        held, waiting = 0, list[str]()
        for scope in unit.scopes():
            held += sum(unit.vectors.count(scope, kind, self.current.name) for kind in Kind)
            if self._missing(unit, scope) is not None:
                by = self.answering(unit, scope)
                old = by.model if by is not None else self.current.name
                waiting.append(f"{scope}" if old == self.current.name else f"{scope} (still by {old})")
        detail = f"{self.current.name}, {held:,} vectors"
        if waiting:
            more = f" and {len(waiting) - 3} more" if len(waiting) > 3 else ""
            detail += f"; still to embed for {', '.join(waiting[:3])}{more}: `jiyi work` does it now"
        else:
            detail += "; everything is embedded"
        return Check("vectors", True, detail)


def embedded_text(item: Memory | SessionSummary | Message) -> str:
    """The text that stands for an item: as it was said, without the speaker, whose name pulls in greetings."""
    return "\n".join(p.text for p in item.points) if isinstance(item, SessionSummary) else item.text


ALOUD = frozenset({Role.USER, Role.ASSISTANT, Role.OTHER})


def answers(message: Message, before: Message) -> bool:
    """Whether a turn may answer the one before it: somebody else has said that, in the same session."""
    told = not before.forgotten and {message.role, before.role} <= ALOUD and message.session == before.session
    return told and (message.role, message.name) != (before.role, before.name)


def _items(
    unit: Unit, scope: Scope, kind: Kind, seqs: Sequence[int]
) -> Sequence[Memory] | Sequence[SessionSummary] | Sequence[Message]:
    if kind is Kind.MEMORY:
        return unit.memories.get(scope, seqs)
    if kind is Kind.SUMMARY:
        return unit.summaries.get(scope, seqs)
    return [m for m in unit.messages.get(scope, seqs) if not m.forgotten]


# ---------------------------------------------------------------------------------- the channel


def match_vectors(
    unit: Unit, scope: Scope, kind: Kind, question: str, embedding: Embedding | None, limit: int
) -> list[Neighbour]:
    """The texts of one kind that mean what the question means, best first (SPEC R11).

    Nothing without an embedder, while it does not answer, or where nothing is embedded yet: words still find.
    """
    text = "" if embedding is None else embedding.put(question)
    if embedding is None or not any(c.isalnum() for c in text):
        return []
    there = embedding.answering(unit, scope)
    if there is None:
        return []
    try:
        asked = embedding.asked(there.model, text)
    except ModelError as error:
        log.warning("recall goes without vectors: %s", error)
        return []
    if asked.dimension != there.dimension:
        log.warning("recall goes without vectors: %s", _another(there, asked.dimension))
        return []
    return unit.vectors.search(scope, kind, there.model, asked, limit)


def shares_of(near: Sequence[Neighbour], cosines: Collection[float]) -> list[float]:
    """How near each is among all that was looked up: how far above the farthest, as a share of the nearest's.

    A cosine by itself says little, since some models put everything near everything.
    """
    lowest = min(cosines, default=0.0)
    spread = max(cosines, default=0.0) - lowest
    return [(cosine - lowest) / spread for _, cosine in near] if spread else [1.0] * len(near)


def scores_of(near: Sequence[Neighbour]) -> dict[int, float]:
    """The channel of one kind for a fusion, by number."""
    return dict(zip((seq for seq, _ in near), shares_of(near, [cosine for _, cosine in near]), strict=True))


def _another(there: VectorSet, dimension: int) -> str:
    return (
        f"{there.model} gave vectors of {there.dimension} numbers before and of {dimension} now, so it is another model: "
        "run `jiyi reindex` to have everything embedded by it"
    )
