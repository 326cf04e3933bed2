"""Where secrets and personal numbers stand in a text (SPEC C11): shapes, checksums, and the words around them.

Everything works on a *shadow* of the text: same length, full-width and other digits folded to ASCII, labels blanked out. So a
position in the shadow is a position in the text.
"""

from __future__ import annotations

import ipaddress
import re
from bisect import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from jiyi.text.assigned import whole_value
from jiyi.text.checksums import (
    credit_code_check,
    iban_check,
    id_card_check,
    id_card_place_and_birth,
    is_card_number,
    luhn,
)
from jiyi.text.redaction_rules import BLANK, RedactionRules


@dataclass(frozen=True, slots=True)
class Hit:
    """The secret `[start, end)` of class `kind`; of two that overlap the longer counts, then the earlier named."""

    start: int
    end: int
    kind: str


# ------------------------------------------------------------------ the shadow


# The first of ten digits: Arabic, Persian, Devanagari, Bengali, Thai, and the five styles of mathematics.
_ZEROS = (0x660, 0x6F0, 0x966, 0x9E6, 0xE50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1FBF0)


def _table() -> dict[int, str]:
    table = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    for zero in _ZEROS:
        table |= {zero + digit: str(digit) for digit in range(10)}
    spaces = (0xA0, 0x3000, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xAD, *range(0x2000, 0x200B), 0x202F, 0x205F)
    table |= dict.fromkeys(spaces, " ")
    table |= dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212, 0xFE58, 0xFE63), "-")
    return table


_FOLD = _table()
_SPELLED = re.compile(r"[0-9〇零一二三四五六七八九幺两]{11,}")
_SPELLED_DIGITS = str.maketrans("〇零一二三四五六七八九幺两", "0012345678912")


def shadow_of(text: str) -> str:
    """The text with digits, letters, blanks and dashes in their ASCII form; of the same length."""
    if text.isascii():
        return text
    shadow = text.translate(_FOLD)
    if _SPELLED.search(shadow):
        shadow = _SPELLED.sub(lambda m: m.group().translate(_SPELLED_DIGITS), shadow)
    return shadow


# ------------------------------------------------------------------ finding


def find_secrets(shadow: str, rules: RedactionRules) -> list[Hit]:
    """The secrets of a shadow, in order, none over another."""
    lower = shadow.lower()
    if not any(candidate.search(lower) for candidate in rules.candidates):
        return []
    found: list[Hit] = []
    for needed, detect in _DETECTORS:
        if needed is None or needed.search(shadow):
            found.extend(detect(shadow, rules))
    if not found:
        return []
    rank = {name: place for place, name in enumerate(rules.classes)}
    accepted: list[Hit] = []
    for hit in sorted(found, key=lambda h: (h.start - h.end, rank[h.kind], h.start)):
        place = bisect(accepted, hit.start, key=lambda h: h.start)
        before, after = accepted[place - 1 : place], accepted[place : place + 1]
        if all(h.end <= hit.start for h in before) and all(h.start >= hit.end for h in after):
            accepted.insert(place, hit)
    return accepted


def _is_near(shadow: str, start: int, kind: str, rules: RedactionRules) -> bool:
    return rules.near[kind].search(shadow, max(0, start - 40), start) is not None


def _is_innocent(shadow: str, start: int, end: int, rules: RedactionRules) -> bool:
    return (
        rules.innocent.search(shadow, max(0, start - 24), start) is not None
        or rules.units.match(shadow, end) is not None
    )


def _lower(shadow: str) -> str:
    """In lower case, of the same length."""
    lower = shadow.lower()
    return lower if len(lower) == len(shadow) else "".join(c.lower() if len(c.lower()) == 1 else c for c in shadow)


def _bare(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]", "", text).upper()


# ------------------------------------------------------------------ keys and passwords

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


def _private_keys(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _KEY_BLOCK.finditer(shadow):
        yield Hit(*match.span(), "private_key")


def _user_infos(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _USER_INFO.finditer(shadow):
        if not _REFERENCE.match(match[1]):
            yield Hit(*match.span(1), "password")


def _logins(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _AT_HOST.finditer(shadow):
        if any(c.isdigit() for c in match[1]) and "://" not in shadow[max(0, match.start() - 8) : match.start()]:
            yield Hit(*match.span(1), "password")
    for match in _COMMAND.finditer(shadow):
        if not _REFERENCE.match(match[match.lastindex or 0]):
            yield Hit(*match.span(match.lastindex or 0), "password")


def _vendor_keys(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    if not any(start in shadow for start in rules.vendor_starts):
        return
    for match in rules.vendors.finditer(shadow):
        yield Hit(*match.span(), "api_key")


def _bearers(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _BEARER.finditer(shadow):
        if any(c.isdigit() for c in match.group()):
            yield Hit(*match.span(match.lastindex or 0), "api_key")


def _assigned_values(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    lower = _lower(shadow)
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


def _pass_phrases(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    """A secret of several words: no shape gives it away, so its words may be no sentence."""
    lower = _lower(shadow)
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


# ------------------------------------------------------------------ addresses of the net

_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+/:=-])[A-Za-z0-9_%+-](?:[A-Za-z0-9._%+'-]{0,63})@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}([A-Za-z]{2,24})(?![A-Za-z0-9-])"
)
_EMAIL_AFTER = re.compile(
    r"(?<=[:=/])[A-Za-z0-9_%+-](?:[A-Za-z0-9._%+'-]{0,63})@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}([A-Za-z]{2,24})(?![A-Za-z0-9-])"
)
_FILES = frozenset(
    [
        "png",
        "jpg",
        "jpeg",
        "gif",
        "svg",
        "webp",
        "ico",
        "js",
        "ts",
        "tsx",
        "jsx",
        "css",
        "scss",
        "json",
        "yaml",
        "yml",
        "toml",
        "py",
        "md",
        "txt",
        "pdf",
        "html",
        "htm",
        "xml",
        "zip",
        "gz",
    ]
)
_AUTHORITY = re.compile(r"://\S*\Z")
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = re.compile(
    rf"(?<![0-9A-Za-z.])(?<![0-9A-Za-z][-_])(?:{_OCTET}\.){{3}}{_OCTET}(?![0-9A-Za-z])(?!\.[0-9])(?!-[0-9A-Za-z])"
)
_IPV6 = re.compile(
    r"(?<![0-9A-Za-z:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3})?(?![0-9A-Za-z:])"
)
_VERSION = re.compile(
    r"(?:(?<![A-Za-z])(?:v|ver|version|release|section|chapter|build)|版本号?|版|升级到|升到|更新到|降到|章|节|第)[^0-9A-Za-z]{0,6}\Z|(?<![A-Za-z])(?:§|==|>=|<=|~=|\^)\s?\Z",
    re.I,
)
_VERSION_AFTER = re.compile(
    r"\s?(?:版|升级|升到|升至|降级|降到|以上|及以上|or later|or newer|is released|was released)"
)
_NAME_BEFORE = re.compile(r"([A-Za-z][A-Za-z.+#-]*)[ /@-]\Z")


def _emails(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for pattern in (_EMAIL, _EMAIL_AFTER):
        for match in pattern.finditer(shadow):
            # git@github.com:me/repo is a place; in scheme://user:password@host the host is none of an e-mail.
            if match[1].lower() in _FILES or (
                match.group().startswith("git@") and shadow[match.end() : match.end() + 1] == ":"
            ):
                continue
            if _AUTHORITY.search(shadow, max(0, match.start() - 200), match.start()):
                continue
            yield Hit(*match.span(), "email")


def _ip_addresses(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _IPV4.finditer(shadow):
        network = match.group().endswith(".0") and shadow[match.end() : match.end() + 1] == "/"
        if not network and not _is_version(shadow, match, rules) and not _is_general(match.group()):
            yield Hit(*match.span(), "ip")


def _is_version(shadow: str, match: re.Match[str], rules: RedactionRules) -> bool:
    """Four numbers with dots are a version after its words, and after a name where all of them are small."""
    start = match.start()
    if _VERSION.search(shadow, max(0, start - 16), start) or _VERSION_AFTER.match(shadow, match.end()):
        return True
    if shadow[start - 1 : start] == "@":
        return "://" in shadow[max(0, start - 300) : start]  # the host of a connection string stays
    if _is_near(shadow, start, "ip", rules):
        return False
    octets = [int(o) for o in match.group().split(".")]
    return max(octets) < 100 and _NAME_BEFORE.search(shadow, max(0, start - 24), start) is not None


def _is_general(address: str) -> bool:
    """Addresses that name nobody's machine: 127.0.0.1, 0.0.0.0, masks, broadcast."""
    parsed = ipaddress.IPv4Address(address)
    return parsed.is_loopback or parsed.is_multicast or address.startswith(("0.", "255."))


def _ipv6_addresses(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _IPV6.finditer(shadow):
        try:
            parsed = ipaddress.IPv6Address(match.group())
        except ValueError:
            continue
        groups = [g for g in match.group().split(":") if g]
        # std::vec, 12::30 and the like parse too; addresses of machines begin so.
        known = parsed.exploded[0] in "23" or parsed.is_link_local or parsed.is_private
        special = parsed.is_loopback or parsed.is_unspecified or not any(c.isdigit() for c in match.group())
        if known and not special and len(groups[0]) >= 3 and len(groups) >= 2:
            yield Hit(*match.span(), "ip")


# ------------------------------------------------------------------ numbers of people

_ID_18 = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9][-.])[1-9][0-9]{5}[- ]?(?:18|19|20)[0-9][0-9][- ]?(?:0[1-9]|1[0-2])[- ]?(?:0[1-9]|[12][0-9]|3[01])[- ]?[0-9]{3}[- ]?[0-9Xx](?![0-9A-Za-z])"
)
_ID_15 = re.compile(r"(?<![0-9A-Za-z])(?<![0-9][-.])[1-9][0-9]{14}(?![0-9A-Za-z])(?!\.[0-9])")
_ID_WORDS = re.compile(r"身份证|身份證|证件|公民身份|\bid card|\bidentity|\bnational id", re.I)
_MOBILE = re.compile(
    r"(?<![0-9])(?<![0-9][-.])(?:\((?:\+|00)?86\)[- ]?|(?:\+|00)\s?86[- ]{0,2}|86[- ])?(?<![0-9A-Za-z]86)"
    r"(?:1[3-9][0-9][- .]{0,2}[0-9]{4}[- .]{0,2}[0-9]{4}|1[3-9][0-9]{2}[- .][0-9]{3}[- .][0-9]{4}|1[3-9][0-9][- .][0-9]{3}[- .][0-9]{5}|1[3-9][0-9]{3}[- .][0-9]{6}|1[ -][3-9](?:[ -][0-9]){9})"
    r"(?![0-9A-Za-z_])(?!\.[0-9])(?!-[0-9]{4})"
)
_LANDLINE = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9][-.])(?:(?:\+|00)86[- ]?)?\(?0?(10|2[0-57-9]|[3-9][0-9]{2})\)?([- ]{0,2})([2-8][0-9]{2,3}[- ]?[0-9]{4})(?:(?:转|-|x|ext\.? ?)[0-9]{1,6})?(?![0-9A-Za-z])(?!\.[0-9])(?!-[0-9])"
)
_US_PHONE = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9][-.])(?:\+?1[-. ]?)?(\([2-9][0-9]{2}\)[-. ]?|[2-9][0-9]{2}[-. ])[2-9][0-9]{2}[-. ][0-9]{4}(?: ?(?:x|ext\.?) ?[0-9]{1,6})?(?![0-9A-Za-z])(?!\.[0-9])(?!-[0-9])"
)
# Numbers that a firm prints on everything: 400 and 800 in China, toll-free in America.
_HOTLINE = re.compile(r"(?:1-)?\(?[48]00\)?[- ]")
_PLUS_PHONE = re.compile(
    r"(?<![0-9A-Za-z])\+[1-9][0-9]{0,2}(?:[-. ]?(?:\([0-9]{1,4}\)|[0-9]{1,5})){1,6}(?![0-9A-Za-z])(?!\.[0-9])(?!-[0-9])"
)
_LONG_NUMBER = re.compile(r"[+(0-9](?:[-. ()]{0,3}[0-9]){7,}")
_PLAIN_PHONE = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9][-.])(?:[2-9][0-9]{9}|1[2-9][0-9]{9}|0[0-9]{2,4}[- ]?[0-9]{3,4}[- ]?[0-9]{3,4}|0[1-9][0-9]{8,9})(?![0-9A-Za-z])(?!\.[0-9])(?!-[0-9])"
)
_CARD = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9][-.])(?:[0-9]{13,19}|[0-9]{4}([- ])[0-9]{4}(?:\1[0-9]{4}){1,2}(?:\1[0-9]{1,4})?|[0-9]{4}[- ][0-9]{6}[- ][0-9]{4,5}|[0-9]{6}[- ][0-9]{10,13})(?![0-9A-Za-z])(?![- .][0-9])"
)
_SSN = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9][-.])(?!000|666|9)[0-9]{3}([- ]?)(?!00)[0-9]{2}\1(?!0000)[0-9]{4}(?![0-9A-Za-z])(?![-.][0-9])"
)
_IBAN = re.compile(r"(?<![0-9A-Za-z])[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![0-9A-Za-z])")
_CREDIT_CODE = re.compile(r"(?<![0-9A-Za-z])[159ANY][1-9][0-9]{6}[0-9A-HJ-NPQRTUWXY]{10}(?![0-9A-Za-z])")
_PASSPORT = re.compile(
    r"(?<![0-9A-Za-z])(?:[A-Z]{1,2}[0-9]{6,8}|[0-9]{9}|1[45][0-9]{7}|E[A-HJ-NP-Z][0-9]{7})(?![0-9A-Za-z])", re.I
)
_PLATE = re.compile(
    r"(?<![A-Za-z0-9])[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼使领][A-HJ-NP-Z][ ·•.-]?"
    r"(?:(?=[A-Z0-9]{0,4}[0-9])[A-HJ-NP-Z0-9]{4}[A-HJ-NP-Z0-9挂学警港澳]|[A-HJ-NP-Z][A-HJ-NP-Z0-9][0-9]{4}|[0-9]{5}[A-HJ-NP-Z])(?![A-Za-z0-9])"
)
_FOREIGN_PLATE = re.compile(r"(?<![0-9A-Za-z])(?=[A-Z -]*[0-9])[A-Z0-9]{1,4}[- ]?[A-Z0-9]{2,4}(?![0-9A-Za-z])")


def _id_cards(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _ID_18.finditer(shadow):
        number = _bare(match.group())
        if id_card_place_and_birth(number) and (
            id_card_check(number) or _is_near(shadow, match.start(), "id_card", rules)
        ):
            yield Hit(*match.span(), "id_card")
    for match in _ID_15.finditer(shadow):
        # Without a check digit, only where the message speaks of identity cards.
        around = shadow[max(0, match.start() - 40) : match.end() + 12]
        if id_card_place_and_birth(match.group()) and _ID_WORDS.search(around):
            yield Hit(*match.span(), "id_card")


def _mobiles(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _MOBILE.finditer(shadow):
        start, end = match.span()
        near = _is_near(shadow, start, "mobile", rules)
        before = shadow[max(0, start - 2) : start]
        in_name = before[-1:].isascii() and (before[-1:].isalpha() or (before[-1:] == "/" and before[:1].isalpha()))
        if not near and ((in_name and match.group().startswith("1")) or _is_innocent(shadow, start, end, rules)):
            continue
        if rules.units.match(shadow, end) and not near:
            continue
        yield Hit(start, end, "mobile")


def _phones(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for region in _LONG_NUMBER.finditer(shadow):
        # What follows is looked at too: an extension, or the letter that makes it something else.
        at, to = region.start(), min(len(shadow), region.end() + 12)
        yield from _landlines(shadow, at, to, rules)
        for pattern in (_US_PHONE, _PLUS_PHONE):
            for match in pattern.finditer(shadow, at, to):
                size = len(_bare(match.group()))
                if _HOTLINE.match(match.group()) or (pattern is _PLUS_PHONE and not 8 <= size <= 15):
                    continue
                if _is_near(shadow, match.start(), "phone", rules) or not _is_innocent(shadow, *match.span(), rules):
                    yield Hit(*match.span(), "phone")
        for match in _PLAIN_PHONE.finditer(shadow, at, to):
            if _is_near(shadow, match.start(), "phone", rules) and not rules.units.match(shadow, match.end()):
                yield Hit(*match.span(), "phone")


def _landlines(shadow: str, at: int, to: int, rules: RedactionRules) -> Iterator[Hit]:
    for match in _LANDLINE.finditer(shadow, at, to):
        if not 7 <= len(_bare(match[3])) <= 8:
            continue
        near = _is_near(shadow, match.start(), "phone", rules)
        written = match.group()
        shaped = "0" in written[: written.find(match[1])] and (bool(match[2]) or ")" in written)
        shaped = shaped or written.startswith(("+86", "0086"))
        if (near and (shaped or written.startswith("0"))) or (
            shaped and not _is_innocent(shadow, *match.span(), rules)
        ):
            yield Hit(*match.span(), "phone")


def _cards(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _CARD.finditer(shadow):
        start, end = match.span()
        number = _bare(match.group())
        if not 13 <= len(number) <= 19:
            continue
        near = _is_near(shadow, start, "bank_card", rules)
        if (near and len(number) >= 14 and not rules.units.match(shadow, end) and len(set(number)) > 2) or (
            is_card_number(number)
            and luhn(number)
            and shadow[start - 1 : start] not in ("/", "=", "#", "_")
            and not _is_innocent(shadow, start, end, rules)
        ):
            yield Hit(start, end, "bank_card")


def _ssns(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _SSN.finditer(shadow):
        if _is_near(shadow, match.start(), "ssn", rules) or (
            match[1] == "-" and not _is_innocent(shadow, *match.span(), rules)
        ):
            yield Hit(*match.span(), "ssn")


def _ibans(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _IBAN.finditer(shadow):
        if iban_check(_bare(match.group())):
            yield Hit(*match.span(), "iban")


def _credit_codes(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _CREDIT_CODE.finditer(shadow):
        near = _is_near(shadow, match.start(), "credit_code", rules)
        if near or (credit_code_check(match.group()) and not match.group().isdigit()):
            yield Hit(*match.span(), "credit_code")


def _passports(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _PASSPORT.finditer(shadow):
        if _is_near(shadow, match.start(), "passport", rules):
            yield Hit(*match.span(), "passport")


def _plates(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _PLATE.finditer(shadow):
        yield Hit(*match.span(), "plate")
    for match in _FOREIGN_PLATE.finditer(shadow):
        if len(_bare(match.group())) >= 5 and _is_near(shadow, match.start(), "plate", rules):
            yield Hit(*match.span(), "plate")


# ------------------------------------------------------------------ where people live

_HAN = "\u4e00-\u9fff"
_NUMBER = r"[0-9〇零一二三四五六七八九十百]{1,6}"
_INSIDE = rf"(?:[ ,，]{{0,2}}(?:[{_HAN}]{{2,8}}?(?:小区|花园|大厦|公寓|家园|苑|城|广场))?[ ,，]{{0,2}}[0-9A-Za-z〇零一二三四五六七八九十甲乙丙丁东西南北]{{1,5}}(?:号楼|栋|幢|座|单元|层|楼|室|户|号院|弄|号))"
_STREET = re.compile(
    rf"[{_HAN}]{{1,8}}?(?:大道|大街|胡同|路|街|巷|弄|里|道)(?:[东西南北中]?[一二三四五六七八九十]?段)? ?{_NUMBER}(?:[-之][0-9]{{1,4}})?(?:弄|号(?!线|门|出口|院线|电梯|公路|口|机|位|楼[^0-9]))(?:院)?(?:{_INSIDE}){{0,5}}(?:[-#][0-9]{{1,5}})*(?:(?<=[楼层栋幢座元])[0-9]{{3,4}}(?![0-9年月日元人个块]))?"
)
_BLOCK = re.compile(
    rf"(?<![0-9A-Za-z])[0-9A-Za-z]{{1,4}}(?:号楼|栋|幢|座)(?:{_INSIDE}){{1,4}}|(?<![0-9A-Za-z])[0-9A-Za-z]{{1,4}}(?:号楼|栋|幢|座)[- ]?[0-9]{{3,4}}(?![0-9A-Za-z年块元人个])"
)
# What can end before a street's name begins: 我住在|文三路, 西湖区|文三路.
_NO_STREETS = frozenset(["", *"道马公铁线电思套走网一条这那每", "高速", "一条", "这条", "那条", "高速公"])
_STREET_START = re.compile(r".*(?:[在住是到去于为从往寄送区市县省镇乡村的我他她它们了把给和与及,:,。]|地址|位于)")
_EN_STREET = re.compile(
    r"(?<![0-9A-Za-z.,$£€#])(?<![0-9][-.:])(?:(?:Flat|Apt|Unit|Suite) \w{1,5}, )?[0-9]{1,5}[A-Za-z]?(?:-[0-9]{1,5})? (?:[NSEW]\.? |North |South |East |West )?"
    r"((?:(?:[A-Z][A-Za-z'.-]*|[0-9]{1,3}(?:st|nd|rd|th)) ){1,3})(?:(?:Street|Avenue|Road|Boulevard|Lane|Drive|Court|Place|Square|Terrace|Crescent|Close|Parkway|Highway|Way|Row|Mews|Circle)\b|(?:St|Ave|Rd|Blvd|Ln|Dr|Ct|Pl|Sq|Pkwy|Hwy)\b\.?)(?!-[A-Za-z])"
    r"(?:,? ?(?:(?:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|Fl|Room|Rm)\.? ?#?|#)\w{1,6})?"
)
_EN_LOWER = re.compile(
    r"(?<![0-9A-Za-z.,$£€#])[0-9]{1,5}[a-z]? (?:[a-z0-9'-]+ ){1,3}(?:street|avenue|road|boulevard|lane|drive|court|square|terrace)\b(?:,? ?(?:apt|apartment|suite|unit|flat)\.? ?#?\w{1,6})?",
    re.I,
)
_STREET_STARTS = re.compile(r" (?:St|Av|Ro|Rd|Bo|Bl|La|Ln|Dr|Co|Ct|Pl|Sq|Te|Cr|Cl|Pa|Pk|Hi|Hw|Wa|Me|Ci)")
_STREET_WORDS = re.compile(r" (?:street|avenue|road|boulevard|lane|drive|court|square|terrace)", re.I)
_NO_ADDRESS = re.compile(
    r"(?:\b(?:in|since|by|of|during|until|top|the|version|chapter|season|before|after)|年|于)\s\Z", re.I
)


def _zh_addresses(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _STREET.finditer(shadow):
        start, end = match.span()
        head = re.search(r"(?:大道|大街|胡同|路|街|巷|弄|里|道)", shadow[start:end])
        if head is None:
            continue
        lead = _STREET_START.match(shadow, start, start + head.start())
        start, name = lead.end() if lead else start, shadow[lead.end() if lead else start : start + head.start()]
        if not name and lead and shadow[start - 1] in "村镇乡区":
            # 中关村大街: the place is the street's name.
            lead = _STREET_START.match(shadow, match.start(), start - 1)
            start = lead.end() if lead else match.start()
            name = shadow[start : match.start() + head.start()] if match.start() + head.start() - start > 1 else ""
        # 道路123号文件, 一路8号: no street is called so.
        if name not in _NO_STREETS:
            yield Hit(start, end, "address")
    for match in _BLOCK.finditer(shadow):
        yield Hit(*match.span(), "address")


def _en_addresses(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    if not _STREET_STARTS.search(shadow):
        return
    for match in _EN_STREET.finditer(shadow):
        if not _NO_ADDRESS.search(shadow, max(0, match.start() - 12), match.start()):
            yield Hit(*match.span(), "address")
    if not _STREET_WORDS.search(shadow):
        return
    for match in _EN_LOWER.finditer(shadow):
        if _is_near(shadow, match.start(), "address", rules):
            yield Hit(*match.span(), "address")


_SIX_DIGITS = re.compile(r"[0-9](?:\D{0,3}[0-9]){5}")
_DETECTORS: tuple[tuple[re.Pattern[str] | None, Callable[[str, RedactionRules], Iterator[Hit]]], ...] = (
    (re.compile("-----BEGIN"), _private_keys),
    (re.compile("://"), _user_infos),
    (re.compile(r"@| -[pau]|--user"), _logins),
    (None, _vendor_keys),
    (re.compile(r"(?i:bearer|basic) "), _bearers),
    (None, _assigned_values),
    (None, _pass_phrases),
    (re.compile("@"), _emails),
    (re.compile(r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]"), _ip_addresses),
    (re.compile(":[0-9A-Fa-f]{0,4}:"), _ipv6_addresses),
    (re.compile(r"[0-9](?:[- ]?[0-9]){13}"), _id_cards),
    (re.compile(r"[0-9](?:[- .]?[0-9]){12}"), _cards),
    (re.compile(r"1[ -]?[3-9](?:[- .]{0,2}[0-9]){9}"), _mobiles),
    (None, _phones),
    (re.compile(r"[0-9]{3}[- ]?[0-9][0-9][- ]?[0-9]{4}"), _ssns),
    (re.compile(r"[A-Z]{2}[0-9]{2}"), _ibans),
    (re.compile(r"[159ANY][1-9][0-9]{6}"), _credit_codes),
    (re.compile("护照|通行证|(?i:passport)"), _passports),
    (re.compile("[\u4e00-\u9fff][A-Z]|车牌|(?i:plate)"), _plates),
    (re.compile(r"[0-9〇零一二三四五六七八九十百](?:号|栋|幢|座|弄)"), _zh_addresses),
    (re.compile(r"[0-9][A-Za-z]? [A-Za-z0-9]"), _en_addresses),
)
"""Each with what a text must hold for it to be worth running."""
