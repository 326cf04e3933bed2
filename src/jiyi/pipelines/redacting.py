"""Redaction of what comes in: the rules of `text/redaction.py` with the keys of this database (SPEC C11)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from datetime import UTC

from jiyi.domain.belief import Observation
from jiyi.domain.language import language_of
from jiyi.domain.memory import IncomingMessage, Language, Message
from jiyi.domain.scope import Scope
from jiyi.ports import Keys, Unit
from jiyi.text.redaction import Redactor

_DIGEST = re.compile(r"~([0-9a-f]{8,32})(?![0-9a-f])")


@dataclass(frozen=True, slots=True)
class Redaction:
    """Takes secrets out of texts and names. Texts carry the current key; names the oldest, since they are looked up by."""

    redactor: Redactor
    keys: Keys

    def text(self, text: str) -> str:
        """A text as it is stored."""
        return self.redactor.redact(text, self.keys.all()[-1], zh=_is_chinese(text))

    def name(self, name: str) -> str:
        """A session, message id, speaker or label as it is stored. It stays the same when the key is rotated.

        A digest that an importer made of a text (`~` and hexadecimal digits) is hashed again, now with a key.
        """
        oldest = self.keys.all()[0]
        if "~" in name:
            name = _DIGEST.sub(lambda m: _keyed(m[1], oldest.secret, len(m[1])), name)
        return self.redactor.redact(name, oldest, zh=_is_chinese(name))

    def message(self, raw: IncomingMessage, secret: bytes) -> IncomingMessage:
        """A turn as it is stored. One without an id gets a hash of (session, role, at, text) keyed with `secret`.

        The hash is made of the redacted text: one of the raw text could be tried against every phone number there is
        by whoever holds the database. It is made with the oldest key, so that it survives a rotation.
        """
        session = self.name(raw.session)
        text = self.text(raw.text)
        return replace(
            raw,
            id=self.name(raw.id) if raw.id else self._hash_id(raw, session, text, secret),
            session=session,
            text=text,
            name=None if raw.name is None else self.name(raw.name),
            labels={self.name(label): self.name(value) for label, value in raw.labels.items()},
        )

    def as_known(self, unit: Unit, scope: Scope, raw: IncomingMessage, message: IncomingMessage) -> IncomingMessage:
        """The message with the text it is already stored with, where that is the same raw text redacted at another time:
        with a key that was rotated since, by other rules, or before there was redaction."""
        known = unit.messages.by_id(scope, message.id)
        if known is None or known.altered or known.text == message.text:
            return message
        same = self.redactor.is_redacted(known.text, raw.text, self.keys.all(), zh=_is_chinese(raw.text))
        return replace(message, text=known.text) if same else message

    def legible(self, message: Message) -> Message:
        """A stored message as it is distilled, with every word in its place."""
        text = self.redactor.without_addresses(message.text)
        return message if text == message.text else replace(message, text=text)

    def tells(self, observation: Observation) -> bool:
        """Whether an observation says more than that there is a number (SPEC C4)."""
        triple = observation.triple
        parts = [observation.text, triple.subject, triple.object] if triple else [observation.text]
        return not any(self.redactor.says_nothing(part) for part in parts)

    def _hash_id(self, raw: IncomingMessage, session: str, text: str, secret: bytes) -> str:
        if text != raw.text:
            text = self.redactor.redact(raw.text, self.keys.all()[0], zh=_is_chinese(raw.text))
        parts = (session, raw.role.value, raw.at.astimezone(UTC).isoformat(), text)
        return f"auto-{_keyed(chr(0x1F).join(parts), secret, 32)}"


def _keyed(text: str, secret: bytes, length: int) -> str:
    return hashlib.blake2b(text.encode(), key=secret, digest_size=16).hexdigest()[:length]


def _is_chinese(text: str) -> bool:
    return language_of(text) is Language.ZH
