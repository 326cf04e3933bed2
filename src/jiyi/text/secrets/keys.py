"""Where keys and passwords stand (SPEC C11)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jiyi.text.assigned import whole_value
from jiyi.text.redaction_rules import BLANK, RedactionRules
from jiyi.text.secrets.hits import Hit, lowered

_KEY_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:.{0,20000}?-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----|(?:[\sA-Za-z0-9+/=\\:,.-]*[A-Za-z0-9+/=]))",
    re.DOTALL,
)
_USER_INFO = re.compile(rf"://[^\s:/@\"'<>{BLANK}]*:([^\s/\"'<>,{BLANK}]+)@")
# root:secret@host, as ssh, scp and ftp clients take it
_AT_HOST = re.compile(
    rf"(?<![\w/:.@-])[A-Za-z][\w.-]{{0,31}}:([^\s/:@,;\"'<>{BLANK}]{{4,64}}(?:@[^\s/:@,;{BLANK}]{{0,20}})??)@(?=[\w-]+(?:\.[\w-]+)+|localhost)"
)
_COMMAND = re.compile(
    rf"\bmysql(?:dump|admin)?\b[^\n;|]{{0,80}}? -p(?! )([^\s{BLANK}]{{4,64}})|\bredis-cli\b[^\n;|]{{0,80}}? -a ([^\s{BLANK}]{{4,64}})"
    rf"|\bsshpass -p ?([^\s{BLANK}]{{4,64}})|\b(?:curl|wget|http)\b[^\n;|]{{0,120}}? (?:-u|--user) ?[\w.@-]{{1,64}}:([^\s{BLANK}]{{4,64}})"
)
_BEARER = re.compile(
    r"(?i:\bbearer)\s+([A-Za-z0-9._~+/-]{16,}=*)|(?i:authorization\W{1,4}basic)\s+([A-Za-z0-9+/]{8,}=*)"
)
_REFERENCE = re.compile(
    r"[$%<{*\[(]|x{3,}$|\.{3}|(?:os|process|env|config|settings|self|this|request|secrets|args|options|ctx|data|params|user|form|var|local|each)\.|get|load|read|your|my[-_]",
    re.I,
)
_PROSE = re.compile(r"\s{1,2}[a-z]")


def private_keys(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _KEY_BLOCK.finditer(shadow):
        yield Hit(*match.span(), "private_key")


def user_infos(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _USER_INFO.finditer(shadow):
        if not _REFERENCE.match(match[1]):
            yield Hit(*match.span(1), "password")


def logins(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _AT_HOST.finditer(shadow):
        if any(c.isdigit() for c in match[1]) and "://" not in shadow[max(0, match.start() - 8) : match.start()]:
            yield Hit(*match.span(1), "password")
    for match in _COMMAND.finditer(shadow):
        if not _REFERENCE.match(match[match.lastindex or 0]):
            yield Hit(*match.span(match.lastindex or 0), "password")


def vendor_keys(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    if not any(start in shadow for start in rules.vendor_starts):
        return
    for match in rules.vendors.finditer(shadow):
        yield Hit(*match.span(), "api_key")


def bearers(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _BEARER.finditer(shadow):
        if any(c.isdigit() for c in match.group()):
            yield Hit(*match.span(match.lastindex or 0), "api_key")


def assigned_values(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    lower = lowered(shadow)
    if not any(stem in lower for stem in rules.name_stems):
        return
    for match in rules.assigned.finditer(lower):
        group = match.lastgroup or "bare"
        start, end = match.span(group)
        is_key = rules.key_names.fullmatch(match["name"]) is not None
        if match["bare"] and not is_key:
            end = whole_value(shadow, start, end, match["join"])
        while end > start and shadow[end - 1] in ".:?":
            end -= 1
        if _gives_away(shadow, match, start, end, is_key, rules):
            yield Hit(start, end, "api_key" if is_key else "password")


def pass_phrases(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    """A secret of several words: no shape gives it away, so its words may be no sentence."""
    lower = lowered(shadow)
    if not any(map(lower.__contains__, rules.phrase_names)):
        return
    for match in rules.phrases.finditer(lower):
        words = set(re.findall("[a-z]+", match["value"]))
        spoken = match["join"][-1] not in ":="
        if rules.prose.isdisjoint(words) and not (spoken and not rules.articles.isdisjoint(words)):
            yield Hit(*match.span("value"), "password")


def _gives_away(shadow: str, match: re.Match[str], start: int, end: int, is_key: bool, rules: RedactionRules) -> bool:
    """Whether the value of a name is a real one: no placeholder, no code, no everyday word."""
    value, join = shadow[start:end], match["join"].strip(" \t\r\n\"'`")
    if len(value) < 4 or value.lower() in rules.placeholders or _REFERENCE.match(value) or shadow[end : end + 1] == "(":
        return False
    digit, letter = any(c.isdigit() for c in value), any(c.isalpha() for c in value)
    han = any("\u4e00" <= c <= "\u9fff" for c in match["name"] + join)
    if not join and not (han or shadow[: match.start()].endswith("--")):
        return False
    if value.isdigit() and (rules.units.match(shadow, end) or shadow[end : end + 1] in tuple("位年月日号级")):
        return False
    if is_key:
        return len(value) >= 8 and letter and (digit or (len(value) >= 16 and "=" in join))
    if not match["bare"]:
        return value.isascii()
    if digit or not letter:
        return digit and (bool(join) or len(value) >= 6 or (len(value) >= 4 and not value.isalnum()))
    return _is_spoken_password(shadow, value, join, end, han)


def _is_spoken_password(shadow: str, value: str, join: str, end: int, han: bool) -> bool:
    """Whether a bare value of letters alone is a password rather than the next word of the sentence."""
    goes_on = _PROSE.match(shadow, end) is not None
    if join.startswith("="):
        return join != "==" and "_" not in value and "." not in value
    if han:
        return bool(join) and not goes_on and not "\u4e00" <= shadow[end : end + 1] <= "\u9fff"
    if not value.islower() and not value.istitle():
        return True
    return not goes_on and not value.endswith(("ed", "ing")) and (join.startswith(":") or len(value) >= 6)
