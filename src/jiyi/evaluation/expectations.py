"""What a golden case expects of one user's memory, each expectation a function that lists what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from jiyi.domain.memory import Language, Memory
from jiyi.domain.relations import subject_name
from jiyi.errors import NotFound
from jiyi.evaluation.case_files import ALTERNATIVES, Step
from jiyi.pipelines.history import oldest_first
from jiyi.scoped_memory import ScopedMemory

SHOWN_TEXTS, SHOWN_CHARS = 6, 100
RECALL_LIMIT, TOP = 8, 3


@dataclass(frozen=True, slots=True)
class Gap:
    """Something expected that is not so."""

    expected: str
    got: str


@dataclass(frozen=True, slots=True)
class Matcher:
    """Compares as people do: whatever the width, the case or the Chinese script (README of the cases)."""

    fold: Callable[[str], str]

    def holds(self, text: str, wanted: str) -> bool:
        """Whether `wanted`, or one of its alternatives, stands in the text."""
        folded = self.fold(text)
        return any(choice in folded for choice in self.choices(wanted))

    def any_holds(self, texts: Iterable[str], wanted: str) -> bool:
        return any(self.holds(text, wanted) for text in texts)

    def equals(self, text: str, wanted: str) -> bool:
        return self.fold(text) in self.choices(wanted)

    def choices(self, wanted: str) -> list[str]:
        return [self.fold(choice.strip()) for choice in wanted.split(ALTERNATIVES)]


Expectation: TypeAlias = Callable[[ScopedMemory, Step, Matcher, str], Iterator[Gap]]
"""Takes the memory of the step's user, the step, how texts are compared, and the session going on."""


def recalled(me: ScopedMemory, step: Step, match: Matcher, session: str) -> Iterator[Gap]:
    args, k = step.args, step.args.get("k", TOP)
    kinds = args.get("kinds")
    found = me.recall(step.value, limit=max(k, RECALL_LIMIT), kinds=kinds, session=args.get("session"))
    texts = [item.text for item in found.items]
    got = shown(texts) if texts else f"nothing, because {found.nothing_because}"
    for wanted in args.get("top", ()):
        if not match.any_holds(texts[:k], wanted):
            yield Gap(f"{wanted!r} in the first {k}", got)
    yield from _lacking(texts, args, match, got)
    if "exactly" in args:
        ids = {item.message_id for item in found.items if item.kind == "message"}
        if ids != set(args["exactly"]):
            yield Gap(
                f"exactly the messages {', '.join(args['exactly'])}", ", ".join(sorted(filter(None, ids))) or "none"
            )


def in_context(me: ScopedMemory, step: Step, match: Matcher, session: str) -> Iterator[Gap]:
    args = step.args
    block = me.context(step.value, budget=args.get("budget"), session=args.get("session", session))
    yield from _having([block.text], args, match, block.text)
    if block.tokens > args.get("max_tokens", block.tokens):
        yield Gap(f"at most {args['max_tokens']} tokens", f"{block.tokens} tokens: {block.text}")


def believed(me: ScopedMemory, step: Step, match: Matcher, session: str) -> Iterator[Gap]:
    args = step.args
    memories = me.memories(tiers=[args["tier"]] if "tier" in args else None)
    texts = [m.text for m in memories]
    yield from _having(texts, args, match)
    if len(texts) < args.get("min", 0):
        yield Gap(f"{args['min']} memories or more", f"{len(texts)}: {shown(texts)}")
    if len(texts) > args.get("max", len(texts)):
        yield Gap(f"{args['max']} memories or fewer", f"{len(texts)}: {shown(texts)}")
    for triple in args.get("triples", ()):
        if not any(_is_triple(memory, triple, match) for memory in memories):
            yield Gap(" – ".join(triple), shown(_triples(memories)))
    if "confidence" in args:
        yield from _confident(me, memories, args["confidence"], match)


def _confident(me: ScopedMemory, memories: Sequence[Memory], wanted: Sequence[Any], match: Matcher) -> Iterator[Gap]:
    text, low, high = wanted
    about = [m for m in memories if match.holds(m.text, text)]
    if not about:
        yield Gap(f"a memory with {text!r}", shown([m.text for m in memories]))
    for memory in about:
        sure = me.confidence(memory)
        if not low <= sure <= high:
            yield Gap(f"confidence of {text!r} in {low}–{high}", f"{sure:.3f} for {memory.text}")


def in_versions(me: ScopedMemory, step: Step, match: Matcher, session: str) -> Iterator[Gap]:
    try:
        chain = me.versions(step.value)
    except NotFound:
        chain = []
    if not chain:
        about = [m for m in me.memories(status=None) if match.holds(m.text, step.value)]
        chain = sorted(about, key=oldest_first)
    texts = iter([m.text for m in chain])
    for wanted in step.args["values"]:
        # Consumes the iterator: the next value must be in a later version.
        if not any(match.holds(text, wanted) for text in texts):
            yield Gap(f"the versions {' → '.join(step.args['values'])}", shown([m.text for m in chain]))
            return


def in_profile(me: ScopedMemory, step: Step, match: Matcher, session: str) -> Iterator[Gap]:
    text = me.profile().text
    yield from _having([text], step.args, match, text)
    if len(text) > step.args.get("max_chars", len(text)):
        yield Gap(f"at most {step.args['max_chars']} characters", f"{len(text)}: {text}")


def asked(me: ScopedMemory, step: Step, match: Matcher, session: str) -> Iterator[Gap]:
    """Whether the user is asked; each text of `has` stands in one of the open questions."""
    texts = [q.text for q in me.questions()]
    if "count" in step.args and len(texts) != step.args["count"]:
        yield Gap(f"{step.args['count']} open questions", f"{len(texts)}: {shown(texts)}")
    yield from _having(texts, step.args, match)


def near_by(me: ScopedMemory, step: Step, match: Matcher, session: str) -> Iterator[Gap]:
    """Whether these are among what is so near, under any of their names."""
    try:
        found = [n.entity for n in me.neighbours(step.value, hops=step.args.get("hops", 1))]
    except NotFound:
        found = []
    yield from _having(found, step.args, match)


def derived(me: ScopedMemory, step: Step, match: Matcher, session: str) -> Iterator[Gap]:
    """What the fusion rules derive, told in words."""
    texts = [i.tie.text for i in me.derived()]
    if "count" in step.args and len(texts) != step.args["count"]:
        yield Gap(f"{step.args['count']} derived triples", f"{len(texts)}: {shown(texts)}")
    yield from _having(texts, step.args, match)


EXPECTED: Mapping[str, Expectation] = {
    "recall": recalled,
    "context": in_context,
    "memories": believed,
    "history_of": in_versions,
    "profile": in_profile,
    "question": asked,
    "near": near_by,
    "derived": derived,
}
"""How each expectation about one user is checked. `stored` is about files, see `in_files`."""


def in_files(contents: Mapping[str, bytes], step: Step, match: Matcher) -> Iterator[Gap]:
    """Looks for the bytes of texts, as written and as folded for the index, in the files of a store."""
    searched = {name: (content, content.lower()) for name, content in contents.items()}

    def holding(wanted: str) -> list[str]:
        needles = _needles(wanted, match)
        return [name for name, forms in searched.items() if any(n in form for n in needles for form in forms)]

    for wanted in step.args.get("has", ()):
        if not holding(wanted):
            yield Gap(f"bytes of {wanted!r} in the store", f"none in {', '.join(contents)}")
    for unwanted in step.args.get("lacks", ()):
        if found := holding(unwanted):
            yield Gap(f"no bytes of {unwanted!r} in the store", f"they are in {', '.join(found)}")


def _needles(wanted: str, match: Matcher) -> set[bytes]:
    written = [choice.strip() for choice in wanted.split(ALTERNATIVES)]
    return {text.encode(code) for text in (*written, *match.choices(wanted)) for code in ("utf-8", "utf-16-le")}


def shown(texts: Sequence[str]) -> str:
    """Texts for a report, the first few and not too long."""
    if not texts:
        return "nothing"
    parts = [" ".join(t.split()) for t in texts[:SHOWN_TEXTS]]
    parts = [t if len(t) <= SHOWN_CHARS else t[: SHOWN_CHARS - 1] + "…" for t in parts]
    more = len(texts) - len(parts)
    return " / ".join(parts) + (f" / and {more} more" if more else "")


def _having(texts: Sequence[str], args: Mapping[str, Any], match: Matcher, got: str | None = None) -> Iterator[Gap]:
    got = shown(texts) if got is None else got or "nothing"
    for wanted in args.get("has", ()):
        if not match.any_holds(texts, wanted):
            yield Gap(f"has {wanted!r}", got)
    yield from _lacking(texts, args, match, got)


def _lacking(texts: Sequence[str], args: Mapping[str, Any], match: Matcher, got: str) -> Iterator[Gap]:
    for unwanted in args.get("lacks", ()):
        if match.any_holds(texts, unwanted):
            yield Gap(f"lacks {unwanted!r}", got)


def _is_triple(memory: Memory, wanted: Sequence[str], match: Matcher) -> bool:
    if memory.triple is None or memory.triple.negated:
        return False
    subject, relation, value = wanted
    triple = memory.triple
    subjects = {triple.subject, *(subject_name(triple.subject, language) for language in Language)}
    return (
        any(match.equals(s, subject) for s in subjects)
        and match.equals(triple.relation, relation)
        and (match.equals(triple.object, value) or match.equals(memory.value, value))
    )


def _triples(memories: Sequence[Memory]) -> list[str]:
    return [f"{m.triple.subject} – {m.triple.relation} – {m.triple.object}" for m in memories if m.triple]
