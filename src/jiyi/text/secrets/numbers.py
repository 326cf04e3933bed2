"""Where numbers of people and firms stand: shapes, checksums, and the words around them (SPEC C11)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jiyi.text.checksums import (
    credit_code_check,
    iban_check,
    id_card_check,
    id_card_place_and_birth,
    is_card_number,
    luhn,
)
from jiyi.text.redaction_rules import RedactionRules
from jiyi.text.secrets.hits import Hit, bare_of, is_innocent, is_near, lowered

_ID_18 = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9][-.])[1-9][0-9]{5}[- ]?(?:18|19|20)[0-9][0-9][- ]?(?:0[1-9]|1[0-2])[- ]?(?:0[1-9]|[12][0-9]|3[01])[- ]?[0-9]{3}[- ]?[0-9Xx](?![0-9A-Za-z])"
)
_ID_15 = re.compile(r"(?<![0-9A-Za-z])(?<![0-9][-.])[1-9][0-9]{14}(?![0-9A-Za-z])(?!\.[0-9])")
# However it is broken up: 310 104 1965 …
_ID_SPACED = re.compile(r"(?<![0-9A-Za-z])[1-9](?:[ -]?[0-9]){16}[ -]?[0-9Xx](?![0-9A-Za-z])")
_ID_WORDS = re.compile(r"身份证|身份證|证件|公民身份|\bid card|\bidentity|\bnational id", re.I)
_MOBILE = re.compile(
    r"(?<![0-9])(?<![0-9][-.])(?:\((?:\+|00)?86\)[- ]?|(?:\+|00)\s?86[- ]{0,2}|86[- ])?(?<![0-9A-Za-z]86)"
    r"(?:1[3-9][0-9][- .]{0,2}[0-9]{4}[- .]{0,2}[0-9]{4}|1[3-9][0-9]{2}[- .][0-9]{3}[- .][0-9]{4}|1[3-9][0-9][- .][0-9]{3}[- .][0-9]{5}|1[3-9][0-9]{3}[- .][0-9]{6}|1[ -][3-9](?:[ -][0-9]){9})"
    r"(?![0-9A-Za-z_])(?!\.[0-9])(?!-[0-9]{4})"
)
_ANY_MOBILE = re.compile(r"(?<![0-9])(?<![0-9][-.])1[- .]?[3-9](?:[- .]?[0-9]){9}(?![0-9A-Za-z_])(?![-.][0-9])")
_EXTENSION = re.compile(r"\s?(?:转|分机)\s?[0-9]{1,6}(?![0-9])")
_LANDLINE = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9][-.])(?:(?:\+|00)86[- ]?)?\(?0?(10|2[0-57-9]|[3-9][0-9]{2})\)?([- ]{0,2})([2-8][0-9]{2,3}[- ]?[0-9]{4})(?:(?:转|-|x|ext\.? ?)[0-9]{1,6})?(?![0-9A-Za-z])(?!\.[0-9])(?!-[0-9])"
)
_US_PHONE = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9][-.])(?:\+?1[-. ]?)?(\([2-9][0-9]{2}\)[-. ]?|[2-9][0-9]{2}[-. ])[2-9][0-9]{2}[-. ][0-9]{4}(?: ?(?:x|ext\.?) ?[0-9]{1,6})?(?![0-9A-Za-z])(?!\.[0-9])(?!-[0-9])"
)
# Numbers that a firm prints on everything: 400 and 800 in China, toll-free in America.
_HOTLINE = re.compile(r"(?:1-)?\(?[48]00\)?[- ]")
_PLUS_PHONE = re.compile(
    r"(?<![0-9A-Za-z])\+[1-9][0-9]{0,2}(?:[-. ]?(?:\([0-9]{1,4}\)|[0-9]{1,5})){1,6}(?:,? ?(?:x|ext\.?) ?[0-9]{1,6})?(?![0-9A-Za-z])(?!\.[0-9])(?!-[0-9])"
)
_UK_MOBILE = re.compile(r"(?<![0-9A-Za-z])(?<![0-9][-.])07[0-9]{3}[ -][0-9]{3} ?[0-9]{3}(?![0-9A-Za-z])(?![-. ][0-9])")
_LONG_NUMBER = re.compile(r"[+(0-9](?:[-. ()]{0,3}[0-9]){7,}")
_PLAIN_PHONE = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9][-.])(?:[2-9][0-9]{9}|1[2-9][0-9]{9}|0[0-9]{2,4}[- ]?[0-9]{3,4}[- ]?[0-9]{3,4}|0[1-9][0-9]{8,9})(?![0-9A-Za-z])(?!\.[0-9])(?!-[0-9])"
)
_CARD = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9][-.])(?:[0-9]{13,19}|[0-9]{4}([- .])[0-9]{4}(?:\1[0-9]{4}){1,2}(?:\1[0-9]{1,4})?|[0-9]{4}[- ][0-9]{6}[- ][0-9]{4,5}|[0-9]{6}[- ][0-9]{10,13})(?![0-9A-Za-z])(?![- .][0-9])"
)
_SSN = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9][-.])(?!000|666|9)[0-9]{3}([- ]?)(?!00)[0-9]{2}\1(?!0000)[0-9]{4}(?![0-9A-Za-z])(?![-.][0-9])"
)
_IBAN = re.compile(r"(?<![0-9A-Za-z])[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![0-9A-Za-z])")
_LOWER_IBAN = re.compile(r"(?<![0-9A-Za-z])[a-z]{2}[0-9]{14,32}(?![0-9A-Za-z])")
_CREDIT_CODE = re.compile(r"(?<![0-9A-Za-z])[159ANY][1-9][0-9]{6}[0-9A-HJ-NPQRTUWXY]{10}(?![0-9A-Za-z])")
_PASSPORT = re.compile(
    r"(?<![0-9A-Za-z])(?:[A-Z]{1,2}[0-9]{6,8}|[0-9]{9}|1[45][0-9]{7}|E[A-HJ-NP-Z][0-9]{7})(?![0-9A-Za-z])", re.I
)
_PLATE = re.compile(
    r"(?<![A-Za-z0-9])[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼使领][A-HJ-NP-Z][ ·•.-]?"
    r"(?:(?=[A-Z0-9]{0,4}[0-9])[A-HJ-NP-Z0-9]{4}[A-HJ-NP-Z0-9挂学警港澳]|[A-HJ-NP-Z][A-HJ-NP-Z0-9][0-9]{4}|[0-9]{5}[A-HJ-NP-Z])(?![A-Za-z0-9])"
)
_PLATE_IN_LOWER = re.compile(_PLATE.pattern, re.I)
_FOREIGN_PLATE = re.compile(r"(?<![0-9A-Za-z])(?=[A-Z -]*[0-9])[A-Z0-9]{1,4}[- ]?[A-Z0-9]{2,4}(?![0-9A-Za-z])")


def id_cards(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _ID_18.finditer(shadow):
        number = bare_of(match.group())
        if id_card_place_and_birth(number) and (
            id_card_check(number) or is_near(shadow, match.start(), "id_card", rules)
        ):
            yield Hit(*match.span(), "id_card")
    for match in _ID_SPACED.finditer(shadow):
        number = bare_of(match.group())
        if (
            id_card_place_and_birth(number)
            and id_card_check(number)
            and is_near(shadow, match.start(), "id_card", rules)
        ):
            yield Hit(*match.span(), "id_card")
    for match in _ID_15.finditer(shadow):
        # Without a check digit, only where the message speaks of identity cards.
        around = shadow[max(0, match.start() - 40) : match.end() + 12]
        if id_card_place_and_birth(match.group()) and _ID_WORDS.search(around):
            yield Hit(*match.span(), "id_card")


def mobiles(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _MOBILE.finditer(shadow):
        start, end = match.span()
        near = is_near(shadow, start, "mobile", rules)
        before = shadow[max(0, start - 2) : start]
        in_name = before[-1:].isascii() and (before[-1:].isalpha() or (before[-1:] == "/" and before[:1].isalpha()))
        if not near and ((in_name and match.group().startswith("1")) or is_innocent(shadow, start, end, rules)):
            continue
        if rules.units.match(shadow, end) and not near:
            continue
        extension = _EXTENSION.match(shadow, end)
        yield Hit(start, extension.end() if extension else end, "mobile")
    for match in _ANY_MOBILE.finditer(shadow):
        if is_near(shadow, match.start(), "mobile", rules) and not rules.units.match(shadow, match.end()):
            yield Hit(*match.span(), "mobile")


def phones(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for region in _LONG_NUMBER.finditer(shadow):
        # What follows is looked at too: an extension, or the letter that makes it something else.
        at, to = region.start(), min(len(shadow), region.end() + 12)
        yield from _landlines(shadow, at, to, rules)
        for pattern in (_US_PHONE, _PLUS_PHONE, _UK_MOBILE):
            for match in pattern.finditer(shadow, at, to):
                size = len(bare_of(re.split("[xe]", match.group())[0]))
                if _HOTLINE.match(match.group()) or (pattern is _PLUS_PHONE and not 8 <= size <= 15):
                    continue
                if is_near(shadow, match.start(), "phone", rules) or not is_innocent(shadow, *match.span(), rules):
                    yield Hit(*match.span(), "phone")
        for match in _PLAIN_PHONE.finditer(shadow, at, to):
            if is_near(shadow, match.start(), "phone", rules) and not rules.units.match(shadow, match.end()):
                yield Hit(*match.span(), "phone")


def _landlines(shadow: str, at: int, to: int, rules: RedactionRules) -> Iterator[Hit]:
    for match in _LANDLINE.finditer(shadow, at, to):
        if not 7 <= len(bare_of(match[3])) <= 8:
            continue
        near = is_near(shadow, match.start(), "phone", rules)
        written = match.group()
        shaped = "0" in written[: written.find(match[1])] and (bool(match[2]) or ")" in written)
        shaped = shaped or written.startswith(("+86", "0086"))
        if (near and (shaped or written.startswith("0"))) or (shaped and not is_innocent(shadow, *match.span(), rules)):
            yield Hit(*match.span(), "phone")


def cards(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _CARD.finditer(shadow):
        start, end = match.span()
        number = bare_of(match.group())
        if not 13 <= len(number) <= 19:
            continue
        near = is_near(shadow, start, "bank_card", rules)
        if (near and len(number) >= 14 and not rules.units.match(shadow, end) and len(set(number)) > 2) or (
            is_card_number(number)
            and luhn(number)
            and shadow[start - 1 : start] not in ("/", "=", "#", "_")
            and not is_innocent(shadow, start, end, rules)
        ):
            yield Hit(start, end, "bank_card")


def ssns(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _SSN.finditer(shadow):
        if is_near(shadow, match.start(), "ssn", rules) or (
            match[1] == "-" and not is_innocent(shadow, *match.span(), rules)
        ):
            yield Hit(*match.span(), "ssn")


def ibans(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _IBAN.finditer(shadow):
        if iban_check(bare_of(match.group())):
            yield Hit(*match.span(), "iban")
    for match in _LOWER_IBAN.finditer(shadow):
        if iban_check(match.group().upper()):
            yield Hit(*match.span(), "iban")


def credit_codes(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _CREDIT_CODE.finditer(shadow):
        near = is_near(shadow, match.start(), "credit_code", rules)
        if near or (credit_code_check(match.group()) and not match.group().isdigit()):
            yield Hit(*match.span(), "credit_code")


def passports(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _PASSPORT.finditer(shadow):
        if is_near(shadow, match.start(), "passport", rules):
            yield Hit(*match.span(), "passport")


def plates(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _PLATE_IN_LOWER.finditer(shadow):
        if is_near(shadow, match.start(), "plate", rules):
            yield Hit(*match.span(), "plate")
    for match in _PLATE.finditer(shadow):
        yield Hit(*match.span(), "plate")
    for match in _FOREIGN_PLATE.finditer(shadow):
        if len(bare_of(match.group())) >= 5 and is_near(shadow, match.start(), "plate", rules):
            yield Hit(*match.span(), "plate")


_DATE = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")


def named_values(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    """Values that only the word before them tells."""
    lower = lowered(shadow)
    if not rules.named_seen.search(lower):
        return
    for named in rules.named:
        if not any(map(lower.__contains__, named.words)):
            continue
        for match in named.value.finditer(shadow):
            value = match["value"]
            amount = rules.units.match(shadow, match.end("value")) is not None
            if not amount and not _DATE.fullmatch(value) and not (named.unless and named.unless.match(value)):
                yield Hit(*match.span("value"), named.kind)
