"""Try a model out on a talk of two lines: what `jiyi doctor` tells of it (SPEC U8)."""

from __future__ import annotations

from datetime import datetime

from jiyi.domain.memory import Message, Role
from jiyi.errors import ModelError
from jiyi.pipelines.model_distil import ModelDistiller
from jiyi.pipelines.modelling.answers import read_answer
from jiyi.ports import Check, Store

PROBE = "doctor"
"""The kind of call that trying out is kept as."""
_TALK = ((Role.USER, "我对芒果过敏，下个月要搬到成都。"), (Role.ASSISTANT, "好的，我记住了。"))
_WAYS = {"schema": "a JSON schema", "tool": "a tool call", "json": "a JSON object", "text": "plain text"}


def probe(store: Store, distiller: ModelDistiller, now: datetime) -> Check:
    """Ask for the memories of a small talk: does it answer, by which way of structured output, and is it any good?"""
    name, policy = distiller.spending.model.name, distiller.policy
    messages = [Message(n, f"probe{n}", "probe", role, text, now) for n, (role, text) in enumerate(_TALK, 1)]
    question = distiller.prompting.question(messages, policy.segment_chars, policy.output_tokens)
    try:
        answer = distiller.spending.ask(store, None, 0, PROBE, question, now)
    except ModelError as error:
        return Check("model", False, str(error), "correct [model] in jiyi.toml, or the variable that holds the key")
    reading = read_answer(answer.text, whole=answer.whole, lines=len(messages), max_chars=distiller.memory_chars)
    detail = (
        f"{name} answers in {answer.seconds:.1f} s by {_WAYS[answer.way]}, "
        f"{answer.tokens_in:,} tokens in and {answer.tokens_out:,} out"
    )
    if reading.fault:
        return Check(
            "model", False, f"{detail}; the answer cannot be used: {reading.fault}", "use a more capable model"
        )
    kept, dropped = distiller.candidates.observe(reading.candidates, messages, (), beside_rules=False)
    detail += f"; {len(kept)} of {len(kept) + dropped.total() + sum(reading.dropped.values())} statements hold"
    return Check("model", bool(kept), detail, "use a more capable model: it finds nothing in a plain sentence")
