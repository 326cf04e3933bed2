"""Where keys and passwords stand (SPEC C11)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jiyi.text.assigned import BARE, whole_value
from jiyi.text.redaction_rules import RedactionRules
from jiyi.text.secrets.hits import Hit, lowered

_KEY_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:.{0,20000}?-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----|(?:[\sA-Za-z0-9+/=\\:,.-]*[A-Za-z0-9+/=]))"
    r"|(?<=Private-Lines: )[0-9]+\s[A-Za-z0-9+/=\s]{16,20000}?(?:Private-MAC: [0-9a-f]{40,}|\Z)",
    re.DOTALL,
)
_REFERENCE = re.compile(
    r"[$%<{\[(]|\*(?![0-9])|x{3,}$|\.{3}|(?:os|process|env|config|settings|self|this|request|secrets|args|options|ctx|data|params|user|form|var|local|each)\.|(?:get|load|read)(?![a-z]*[0-9])|getpass|getenv|your|my[-_]",
    re.I,
)
# ~/.ssh/id_ed25519, ./keys/a1.pem, C:\\keys: where a secret is, not what it is
_PATH = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)[/\\]|/(?:etc|home|root|usr|var|opt|users|tmp|app|run|mnt|srv|data|secrets|keys|ssl|certs?)/",
    re.I,
)
_PROSE = re.compile(r"\s{1,2}[a-z]")
_OTHER_KEY = re.compile(
    rf"(?<![a-z0-9])(?:[a-z0-9]{{2,20}}_){{0,3}}?([a-z0-9]{{2,20}})_key[\"']?\]?\s?[=:]\s?[\"']?({BARE}{{16,512}})"
)
# A code in front of what it is: 123456 is your verification code, use 123456 as your login code.
_CODE_FIRST = re.compile(
    r"(?<![0-9A-Za-z])(?:[A-Z]-)?([0-9]{4,8}) (?:is|as) (?:your|the|my) (?:[\w-]+ ){0,3}(?:code|otp|pin|passcode)\b|(?<![0-9A-Za-z])([0-9]{4,8})\s?(?:是|为)(?:您|你|我)?的?[\u4e00-\u9fff]{0,8}(?:验证码|校验码|动态码)",
    re.I,
)


def is_reference(value: str) -> bool:
    """Whether a value only says where the secret is: ${DB_PASSWORD}, os.environ[…], <your password>."""
    return _REFERENCE.match(value) is not None


def is_drawn(value: str, least: int = 16) -> bool:
    """Whether a value looks drawn by lot: long, letters and digits, and no words or dates with signs between them."""
    bare = re.sub(r"%[0-9A-Fa-f]{2}", "", value)
    figures = sum(c.isdigit() for c in bare)
    letters = sum(c.isalpha() for c in bare)
    if len(bare) < least or figures < 2 or letters < 2 or not bare.isascii() or _PATH.match(bare):
        return False
    if re.fullmatch(r"[0-9a-f-]+|[0-9A-F-]+", bare) and letters >= 4:
        return True
    mixed = any(c.islower() for c in bare) and any(c.isupper() for c in bare)
    return max(len(run) for run in re.split(r"[^0-9A-Za-z]+", bare)) >= 10 and (mixed or figures >= 4) and letters >= 4


def private_keys(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _KEY_BLOCK.finditer(shadow):
        yield Hit(*match.span(), "private_key")


def other_keys(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    """The value of a variable that is called somebody's key."""
    for match in _OTHER_KEY.finditer(lowered(shadow)):
        value = shadow[match.start(2) : match.end(2)]
        if match[1] not in rules.open_keys and is_drawn(value) and not _REFERENCE.match(value):
            yield Hit(*match.span(2), "api_key")


def told_codes(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _CODE_FIRST.finditer(shadow):
        yield Hit(*match.span(match.lastindex or 0), "password")


def vendor_keys(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    if not rules.vendors_seen.search(shadow):
        return
    for match in rules.vendors.finditer(shadow):
        yield Hit(*match.span(), "api_key")


def assigned_values(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    lower = lowered(shadow)
    if not rules.names_seen.search(lower):
        return
    for match in rules.assigned.finditer(lower):
        group = match.lastgroup or "bare"
        start, end = match.span(group)
        is_key = rules.key_names.fullmatch(match["name"]) is not None
        element = match["join"].endswith(">") and "=" not in match["join"] and "-" not in match["join"]
        if element and shadow[end : end + 2] != "</":
            continue
        if match["bare"] and not is_key and not element and match["join"] != "(":
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
    value, join = shadow[start:end], match["join"].strip(" \t\r\n\"'`\\")
    if len(value) < 4 or value.lower() in rules.placeholders or _REFERENCE.match(value) or shadow[end : end + 1] == "(":
        return False
    digit, letter = any(c.isdigit() for c in value), any(c.isalpha() for c in value)
    han = any("\u4e00" <= c <= "\u9fff" for c in match["name"] + join)
    if match["han"]:
        return join != "" and not is_key
    if not join and not (han or shadow[: match.start()].endswith("--")):
        if value.isdigit() and len(value) >= 6 and match["name"].endswith(("code", "otp", "pin")):
            return True
        return is_drawn(value, 20) if is_key else bool(match["bare"]) and _is_strong(value)
    if join == "(" and not (han and digit and value.isascii()):
        return False
    if len(join.split()) > 2 and value.isalpha():
        return False
    if _AMOUNT.fullmatch(value) and (rules.units.match(shadow, end) or shadow[end : end + 1] in tuple("位年月日号级")):
        return False
    if _SHARE.fullmatch(value):
        return False
    if is_key:
        return len(value) >= 8 and not _PATH.match(value) and letter and (digit or (len(value) >= 16 and "=" in join))
    if match["join"].strip().endswith(",") and not _is_strong(value):
        return False
    if not match["bare"]:
        return value.isascii() or (join != "" and _HAN_AND_NUMBER.fullmatch(value) is not None)
    if digit or not letter:
        code = match["name"].endswith("码") and not match["name"].endswith("密码")
        return digit and (bool(join) or len(value) >= 6 or code or not value.isalnum())
    return _is_spoken_password(shadow, value, join, end, han)


_HAN_AND_NUMBER = re.compile("[\u4e00-\u9fff]{2,8}[0-9]{3,12}")
_AMOUNT = re.compile(r"[0-9]+(?:[-~][0-9]+)?")
_SIZE = re.compile(r"[0-9]+x[0-9]+")
_SHARE = re.compile(r"[0-9]{1,3}/[0-9]{1,3}")
_TITLE_AND_NUMBER = re.compile(r"[A-Za-z][a-z]+[0-9.]*")


def _is_strong(value: str) -> bool:
    """Whether a word right after "password" can hardly be another word of the sentence."""
    kinds = (any(map(test, value)) for test in (str.islower, str.isupper, str.isdigit))
    return len(value) >= 8 and all(kinds) and not _TITLE_AND_NUMBER.fullmatch(value) and not _PATH.match(value)


def distant_values(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    """密码我换了，新的是…: a Chinese name, some words, and a value that looks like one."""
    for match in rules.distant.finditer(lowered(shadow)):
        start, end = match.span("value")
        value = shadow[start:end]
        renewed = "新的" in match["gap"] or match["gap"].endswith("个")
        if (
            value.lower() in rules.placeholders
            or _REFERENCE.match(value)
            or "/" in value
            or _SIZE.fullmatch(value)
            or rules.units.match(shadow, end)
        ):
            continue
        if any(c.isdigit() for c in value) and (
            any(c.isalpha() for c in value) or (renewed and shadow[end : end + 1] not in tuple("位年月日号级"))
        ):
            yield Hit(start, end, "password")


# creds: admin/…, 账号密码：zhang/…
_PAIR = re.compile(
    rf"(?:\b(?:creds?|credentials?|login|log in)|账号密码|用户名密码|账密)\s?[:=]?\s?(?:is |是)?[\w.@-]{{2,40}} ?/ ?({BARE}{{6,64}})",
    re.I,
)


def paired_values(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _PAIR.finditer(shadow):
        value = match[1]
        kinds = (any(map(test, value)) for test in (str.isdigit, str.isalpha))
        if all(kinds) and not (value.isalnum() and value.islower()) and "/" not in value and "." not in value:
            yield Hit(*match.span(1), "password")


_APART = re.compile(r";\s?(?:password|pwd)\s?=\s?([^;\"'\n]{4,100});", re.I)


def settings_of_strings(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    """…;Password=two words;… of a connection string."""
    for match in _APART.finditer(shadow):
        if not _REFERENCE.match(match[1]):
            yield Hit(match.start(1), match.start(1) + len(match[1].rstrip()), "password")


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
