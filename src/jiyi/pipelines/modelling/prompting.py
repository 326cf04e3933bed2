"""What a language model is asked about a segment: prompts as versioned files, the talk as numbered lines (SPEC C7)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jiyi.domain.asking import Question
from jiyi.domain.language import language_of
from jiyi.domain.memory import Language, Message, Role
from jiyi.domain.relations import COMPANY, USER, Vocabulary
from jiyi.errors import SettingsError

SCHEMA_NAME = "memories"
_VERSION = re.compile(r"\A<!-- version: (\d+) -->\s*")
_RELATIONS = {USER: "{relations}", COMPANY: "{company_relations}"}
"""Where a prompt lists the relations of either side. In one list a plan of the user's was taken for the company's."""
_SPEAKERS: Mapping[Language, Mapping[Role, str]] = {
    Language.ZH: {Role.USER: "用户", Role.ASSISTANT: "助手", Role.OTHER: "其他人"},
    Language.EN: {Role.USER: "user", Role.ASSISTANT: "assistant", Role.OTHER: "other person"},
}
_WEEKDAYS = {Language.ZH: "一二三四五六日", Language.EN: ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")}
_AGAIN = {
    Language.ZH: "这个回答不能用：{fault}。请重新回答，只给出一个完整的、符合要求的 JSON 对象；装不下就只留最重要的几条。",
    Language.EN: "This answer cannot be used: {fault}. Answer again with one whole JSON object of the shape asked for; if it gets too long, keep only what matters most.",
}


@dataclass(frozen=True, slots=True)
class Prompt:
    """Instructions in one language, with the version that the file states."""

    text: str
    version: int


def parse_prompt(text: str, name: str) -> Prompt:
    """Raises: SettingsError: the file does not begin with its version, or has no place for the relations."""
    found = _VERSION.match(text)
    if found is None or not all(place in text for place in _RELATIONS.values()):
        places = " and ".join(_RELATIONS.values())
        raise SettingsError(f"{name}: a prompt begins with <!-- version: N --> and holds {places}")
    return Prompt(text[found.end() :].strip(), int(found[1]))


@dataclass(frozen=True, slots=True)
class Prompting:
    """Writes questions. Built once."""

    prompts: Mapping[Language, Prompt]
    schema: Mapping[str, Any]
    vocabulary: Vocabulary

    def question(self, messages: Sequence[Message], chars: int, max_tokens: int) -> Question:
        """The question about a segment, in the language that its user speaks; messages are numbered from 1."""
        language = self.language(messages)
        instructions = self.prompts[language].text
        for side, place in _RELATIONS.items():
            instructions = instructions.replace(place, ", ".join(r.name for r in self.vocabulary if r.subject == side))
        lines = [_line(number, m, language, chars) for number, m in enumerate(messages, 1)]
        return Question(instructions, "\n".join(lines), self.schema, SCHEMA_NAME, max_tokens)

    def again(self, said: str, fault: str, language: Language) -> tuple[str, str]:
        """What is said to an answer that will not do."""
        return said, _AGAIN[language].format(fault=fault)

    def language(self, messages: Sequence[Message]) -> Language:
        spoken = "\n".join(m.text for m in messages if m.role is not Role.ASSISTANT)
        return language_of(spoken)

    def label(self, language: Language) -> str:
        """Which prompt it was, for the ledger."""
        return f"distil.{language} v{self.prompts[language].version}"


def _line(number: int, message: Message, language: Language, chars: int) -> str:
    who = _SPEAKERS[language][message.role]
    if message.name:
        who = f"{who} {message.name}"
    text = message.text if len(message.text) <= chars else message.text[:chars] + " …"
    return f"[{number}] {who} ({_moment(message.at, language)}): {text}"


def _moment(at: datetime, language: Language) -> str:
    day = _WEEKDAYS[language][at.weekday()]
    return f"{at:%Y-%m-%d %H:%M} {'周' if language is Language.ZH else ''}{day}"
