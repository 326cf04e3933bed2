"""Secrets and personal numbers leave a text before anything is stored (SPEC C11).

A value becomes a label that says what it was, shows a few harmless characters of it, and carries a keyed hash, so that the same
number said twice is still the same number:

    我的手机是13800138000   →   我的手机是〔手机 138××××8000·k1:5b0e6f1c〕

A label is never redacted again, so redacting twice equals redacting once. Pure: keys come in as arguments.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from itertools import pairwise
from unicodedata import normalize

from jiyi.errors import SettingsError
from jiyi.text.detectors import Hit, find_secrets, shadow_of
from jiyi.text.redaction_rules import BLANK, RedactionRules, SecretClass

DROP, MASK, KEEP, KEEP_OWN, KEEP_OTHERS = "drop", "mask", "keep", "keep-own", "keep-others"
POLICIES = (MASK, DROP, KEEP, KEEP_OWN, KEEP_OTHERS)
HIDDEN = "××××"
"""What a label shows in place of hidden characters, however many they are."""
LONGEST_HOST = 100
PASSES = 12
"""What is left when a value is taken out can show another one beside it; this often it is looked for."""

_LONG_NUMBER = re.compile(r"[0-9]{6}")
_OWN = re.compile(
    r"(?:我|本人|俺|(?<![a-z])(?:my|mine))[的\s]{0,2}(?:(?:个人|私人|工作|公司|常用|备用|新|旧|personal|private|work|new|old|own|main|business|current)\s?){0,2}"
    r"(?:[\u4e00-\u9fffA-Za-z -]{0,14})(?:是|为|:|=|is|was|now|成|改)?[\s:=\"'“「(]{0,3}\Z",
    re.I,
)
_SOMEBODY = re.compile(
    r"同事|朋友|老婆|老公|妻子|丈夫|爱人|爸|妈|父|母|哥|姐|弟|妹|儿子|女儿|老板|领导|经理|客户|老师|同学|邻居|他|她|"
    r"'s\b|friend|boss|wife|husband|mother|father|mom|dad|brother|sister|son\b|daughter|colleague|manager|client|teacher|neighbou?r",
    re.I,
)


@dataclass(frozen=True, slots=True)
class RedactionPolicy:
    """What happens to each class of private values before anything is stored (SPEC C11).

    `mask` leaves a label with a keyed hash, `drop` a label without one, `keep` leaves the value as it is; `keep-own` keeps what the
    user calls their own (我的邮箱, my email) and masks the others', `keep-others` the other way round.
    """

    private_key: str = MASK
    api_key: str = MASK
    password: str = MASK
    id_card: str = MASK
    bank_card: str = MASK
    iban: str = MASK
    mobile: str = MASK
    phone: str = MASK  # landlines, and numbers of other countries
    passport: str = MASK  # and travel permits
    document: str = MASK  # driving licences, social insurance, residence permits
    account: str = MASK  # numbers of bank accounts
    plate: str = MASK
    credit_code: str = MASK
    ssn: str = MASK
    email: str = MASK
    ip: str = MASK
    address: str = MASK  # from the street down; town and district stay

    def __post_init__(self) -> None:
        for f in fields(self):
            if getattr(self, f.name) not in POLICIES:
                raise SettingsError(
                    f"redaction.{f.name} = {getattr(self, f.name)!r}: choose one of {', '.join(POLICIES)}"
                )


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the hashes in labels: `k1`, `k2`, … and 32 random bytes."""

    id: str
    secret: bytes = field(repr=False)

    def tag(self, value: str) -> str:
        """The keyed hash of a value in its one form: 8 hexadecimal digits."""
        digest = blake2b(value.encode("utf-8", "surrogatepass"), key=self.secret, digest_size=4, person=b"jiyi-redact")
        return digest.hexdigest()

    @property
    def fingerprint(self) -> str:
        """Tells this key from another of the same id; gives nothing of it away."""
        return blake2b(self.secret, digest_size=8, person=b"jiyi-key").hexdigest()


@dataclass(frozen=True, slots=True)
class Redactor:
    """Takes secrets out of texts. Built once; pure, so one may serve all threads.

    Raises:
        SettingsError: the rules lack a class of the policy, or have one more.
    """

    rules: RedactionRules
    policy: RedactionPolicy = field(default_factory=RedactionPolicy)
    _label: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if (named := {f.name for f in fields(RedactionPolicy)}) != set(self.rules.classes):
            odd = sorted(named ^ set(self.rules.classes))
            raise SettingsError(f"redaction.toml and the policy do not name the same classes: {', '.join(odd)}")
        object.__setattr__(self, "_label", _label_pattern(self.rules.classes))

    def redact(self, text: str, key: Key, *, zh: bool) -> str:
        """The text with a label in the place of each secret; the very same text where there is none.

        Args:
            zh: whether labels are Chinese.
        """
        for _ in range(PASSES):
            shadow = self._shadow(text)
            hits = [h for h in find_secrets(shadow, self.rules) if not self._stays(shadow, h)]
            if not hits:
                break
            pieces: list[str] = []
            at = 0
            for hit in hits:
                pieces += (text[at : hit.start], self._label_of(hit.kind, shadow[hit.start : hit.end], key, zh=zh))
                at = hit.end
            text = "".join((*pieces, text[at:]))
        return text

    def is_redacted(self, text: str, raw: str, keys: Sequence[Key], *, zh: bool) -> bool:
        """Whether `text` is `raw` with labels in the place of values, whatever rules and key were used then.

        A tag is checked where its key is still there; a label of a lost key stands for any value.
        """
        if text == raw or any(self.redact(raw, key, zh=zh) == text for key in keys):
            return True
        labels = list(self._label.finditer(text))
        if not labels:
            return False
        # Each value ends where the next words begin, at the first place where they do: no way back, so the time is linear.
        words = [text[a.end() : b.start()] for a, b in pairwise(labels)]
        between = "".join(f"(?>(.{{1,20000}}?){re.escape(said)})" for said in words)
        start, end = re.escape(text[: labels[0].start()]), re.escape(text[labels[-1].end() :])
        found = re.fullmatch(f"{start}{between}(.{{1,20000}}){end}", raw, re.DOTALL)
        if found is None:
            return False
        by_id = {key.id: key for key in keys}
        return all(self._answers(label, value, by_id) for label, value in zip(labels, found.groups(), strict=True))

    def labels(self, text: str) -> list[tuple[int, int]]:
        """Where labels stand, as `[start, end)`."""
        return [m.span() for m in self._label.finditer(text)] if "〔" in text or "[" in text else []

    def without_addresses(self, text: str) -> str:
        """The text with blanks in the place of address labels, every other character in its place: the town before one
        still reads as where somebody lives."""
        address = self.rules.classes["address"]
        if f"〔{address.zh}" not in text and f"[{address.en}" not in text:
            return text
        here = (f"〔{address.zh}", f"[{address.en}")
        return self._label.sub(lambda m: " " * len(m[0]) if m[0].startswith(here) else m[0], text)

    def says_nothing(self, text: str) -> bool:
        """Whether a value is nothing but labels, or holds a piece of one that was cut in two."""
        if HIDDEN not in text and "·k" not in text and "〔" not in text and not self.labels(text):
            return False
        rest, labels = self._label.subn("", text)
        torn = HIDDEN in rest or re.search(r"·k\d|[〔〕]|\bk\d+:[0-9a-f]{8}", rest) is not None
        return torn or (labels > 0 and not any(c.isalnum() for c in rest))

    def _shadow(self, text: str) -> str:
        shadow, pieces, at = shadow_of(text), [""], 0
        for start, end in self.labels(text):
            pieces += (shadow[at:start], BLANK * (end - start))
            at = end
        return "".join((*pieces, shadow[at:])) if at else shadow

    def _stays(self, shadow: str, hit: Hit) -> bool:
        policy = getattr(self.policy, hit.kind)
        if policy in (KEEP_OWN, KEEP_OTHERS):
            return _is_own(shadow, hit.start) is (policy == KEEP_OWN)
        return bool(policy == KEEP)

    def _label_of(self, kind: str, value: str, key: Key, *, zh: bool) -> str:
        entry = self.rules.classes[kind]
        opening, name, closing = ("〔", entry.zh, "〕") if zh else ("[", entry.en, "]")
        if getattr(self.policy, kind) == DROP:
            return f"〔{name}已移除〕" if zh else f"[{name} removed]"
        bare = _one_form(kind, value)
        mask = _mask(entry, bare)
        return f"{opening}{name}{' ' if mask else ''}{mask}·{key.id}:{key.tag(bare)}{closing}"

    def _answers(self, label: re.Match[str], value: str, keys: Mapping[str, Key]) -> bool:
        key = keys.get(label["zh_key"] or label["en_key"] or "")
        if key is None or value == label.group():
            return True
        name = label["zh_name"] or label["en_name"]
        tag = label["zh_tag"] or label["en_tag"]
        shadow = shadow_of(value)
        kinds = [c.name for c in self.rules.classes.values() if name in (c.zh, c.en)]
        return any(key.tag(_one_form(kind, shadow)) == tag for kind in kinds)


def _label_pattern(classes: Mapping[str, SecretClass]) -> re.Pattern[str]:
    """Labels and nothing else: no more of a value fits in than a label may show, so none can hide in a forged one."""
    mask = rf"(?: (?:\w{{0,3}}{HIDDEN}\w{{0,4}}|[\w%+'-]{HIDDEN}@(?![A-Za-z0-9.-]*[0-9]{{6}})[A-Za-z0-9.-]{{3,{LONGEST_HOST}}}))?"

    def names(words: Callable[[SecretClass], str]) -> str:
        return "|".join(re.escape(words(c)) for c in classes.values())

    zh, en = names(lambda c: c.zh), names(lambda c: c.en)
    return re.compile(
        rf"〔(?:(?P<zh_name>{zh}){mask}·(?P<zh_key>k\d{{1,4}}):(?P<zh_tag>[0-9a-f]{{8}})|(?:{zh})已移除)〕"
        rf"|\[(?:(?P<en_name>{en}){mask}·(?P<en_key>k\d{{1,4}}):(?P<en_tag>[0-9a-f]{{8}})|(?:{en}) removed)\]"
    )


def _one_form(kind: str, value: str) -> str:
    """A value as it is hashed: the same number is the same, however it is written."""
    if kind in ("password", "api_key", "private_key"):
        return value
    if kind == "email":
        # anna [at] example dot com is anna@example.com
        spelt = re.sub(r"\s?[\[(]?\bdot\b[\])]?\s?", ".", value.casefold()) if "@" not in value else value.casefold()
        return re.sub(r"\s?[\[(]?\bat\b[\])]?\s?", "@", spelt, count=1) if "@" not in value else spelt.replace(" ", "")
    if kind == "ip":
        try:
            return ipaddress.ip_address(value).compressed
        except ValueError:
            return value
    if kind == "address":
        return re.sub(r"[\s,，.]", "", normalize("NFKC", value)).casefold()
    bare = re.sub(r"[\W_]", "", value).upper()
    if kind == "mobile":
        return bare[-11:]
    if kind == "phone" and bare.startswith(("86", "0086")) and len(bare) > 11:
        return "0" + bare.removeprefix("00").removeprefix("86").removeprefix("0")
    if kind == "phone" and len(bare) == 11 and bare.startswith("1"):
        return bare[1:]
    return bare


def _mask(entry: SecretClass, bare: str) -> str:
    head, tail = entry.shown
    if entry.name == "email":
        name, at, host = bare.rpartition("@")
        if not at:
            return HIDDEN
        # A host may hold a number of its own.
        return f"{name[:head]}{HIDDEN}" + ("" if _LONG_NUMBER.search(host) or len(host) > LONGEST_HOST else f"@{host}")
    if (not head and not tail) or len(bare) < head + tail + len(HIDDEN) - 1:
        return ""
    return f"{bare[:head]}{HIDDEN}{bare[len(bare) - tail :]}"


def _is_own(shadow: str, start: int) -> bool:
    """Whether the user calls the value that begins here their own."""
    found = _OWN.search(shadow, max(0, start - 40), start)
    return found is not None and _SOMEBODY.search(found.group()) is None
