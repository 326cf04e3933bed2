"""Where an address stands down to the house number (SPEC C11)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jiyi.text.redaction_rules import RedactionRules
from jiyi.text.secrets.hits import Hit, is_near

LONGEST_NAME = 20
"""So many characters before a block may name where it stands."""
LAST_DAY = 31
"""A number of a village up to this may be a day: 李家村12号赶集."""

# What can end before a street's name begins: 我住在|文三路, 西湖区|文三路.
_NO_STREETS = frozenset(["", *"道马公铁线电思套走网一条这那每", "高速", "一条", "这条", "那条", "高速公"])
_STREET_START = re.compile(r".*(?:[在住是到去于为从往寄送区市县省镇乡村的我他她它们了把给和与及,:,。]|地址|位于)")
_STREET_STARTS = re.compile(
    r" (?:St|Av|Ro|Rd|Bo|Bl|La|Ln|Lo|Dr|Co|Ct|Pl|Sq|Te|Tr|Cr|Cl|Pa|Pk|Hi|Hw|Wa|Wh|Me|Ci|Ga|Gr|Al|Qu|Ea|Mary)"
)
_STREET_WORDS = re.compile(r" (?:street|avenue|road|boulevard|lane|drive|court|square|terrace)", re.I)
_NO_ADDRESS = re.compile(
    r"(?:\b(?:in|since|by|of|during|until|top|the|version|chapter|season|before|after)|年|于)\s\Z", re.I
)
_FIGURES = re.compile("[0-9]+")


def zh_streets(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in rules.places.street.finditer(shadow):
        start, end = match.span()
        head = match.start("head")
        lead = _STREET_START.match(shadow, start, head)
        start, name = lead.end() if lead else start, shadow[lead.end() if lead else start : head]
        if not name and lead and shadow[start - 1] in "村镇乡区":
            # 中关村大街: the place is the street's name.
            lead = _STREET_START.match(shadow, match.start(), start - 1)
            start = lead.end() if lead else match.start()
            name = shadow[start:head] if head - start > 1 else ""
        # 道路123号文件, 一路8号: no street is called so.
        if name not in _NO_STREETS:
            yield Hit(start, end, "address")


def zh_blocks(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    """5号楼3单元402室, with the compound before it: 阳光小区|5号楼."""
    for match in rules.places.block.finditer(shadow):
        yield Hit(_named_from(shadow, match.start(), rules), match.end(), "address")
    for match in rules.places.short_block.finditer(shadow):
        start = _named_from(shadow, match.start(), rules)
        if start < match.start():
            yield Hit(start, match.end(), "address")


def _named_from(shadow: str, at: int, rules: RedactionRules) -> int:
    """Where the name of the compound or building begins that ends before `at`; `at` if there is none."""
    before = rules.places.compound.search(shadow, max(0, at - LONGEST_NAME), at)
    if before is None:
        return at
    start, end = before.span("name")
    lead = rules.places.lead.match(shadow, start, end - 1)
    start = lead.end() if lead else start
    return start if end - start >= 3 else at


def zh_villages(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in rules.places.village.finditer(shadow):
        lead = rules.places.lead.match(shadow, match.start(), match.start("house") - 2)
        start = lead.end() if lead else match.start()
        number = _FIGURES.search(match["house"])
        may_be_day = number is None or int(number.group()) <= LAST_DAY
        sure = match["group"] or not may_be_day or (lead and lead.group()[-1] in "县镇乡道")
        if sure or is_near(shadow, match.start("house"), "address", rules):
            yield Hit(start, match.end(), "address")


def en_addresses(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    if not _STREET_STARTS.search(shadow):
        return
    for match in rules.places.latin.finditer(shadow):
        if not _NO_ADDRESS.search(shadow, max(0, match.start() - 12), match.start()):
            code = rules.places.postcode.match(shadow, match.end())
            yield Hit(match.start(), code.end() if code else match.end(), "address")
    for match in rules.places.lane.finditer(shadow):
        yield Hit(*match.span(), "address")
    if not _STREET_WORDS.search(shadow):
        return
    for match in rules.places.lower.finditer(shadow):
        if is_near(shadow, match.start(), "address", rules):
            yield Hit(*match.span(), "address")


def other_addresses(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for pattern in (rules.places.box, rules.places.abroad):
        for match in pattern.finditer(shadow):
            yield Hit(*match.span(), "address")
