"""Where an address stands down to the house number (SPEC C11)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jiyi.text.redaction_rules import RedactionRules
from jiyi.text.secrets.hits import Hit, is_near

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


def zh_addresses(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
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


def en_addresses(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    if not _STREET_STARTS.search(shadow):
        return
    for match in _EN_STREET.finditer(shadow):
        if not _NO_ADDRESS.search(shadow, max(0, match.start() - 12), match.start()):
            yield Hit(*match.span(), "address")
    if not _STREET_WORDS.search(shadow):
        return
    for match in _EN_LOWER.finditer(shadow):
        if is_near(shadow, match.start(), "address", rules):
            yield Hit(*match.span(), "address")
