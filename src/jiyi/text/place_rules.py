"""The shapes of addresses down to the house number, made of the words in `redaction.toml` (SPEC C11)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HAN = "\u4e00-\u9fff"
HEAD = "(?:大道|大街|胡同|路|街|巷|弄|里|道)"
"""How the name of a Chinese street ends."""
_NUMERAL = r"[0-9〇零一二三四五六七八九十百]{1,6}"
_NUMBER = rf"[甲乙丙丁副附新特]? ?{_NUMERAL}(?:[-之][0-9]{{1,4}})?"
_NO_HOUSE = r"(?!线|门|出口|院线|电梯|公路|口|机|位|楼[^0-9])"
_UNIT = r"第?[0-9A-Za-z〇零一二三四五六七八九十甲乙丙丁东西南北]{1,5} ?(?:号楼|栋|幢|座|塔|单元|层|楼|室|户|号院|号写字楼|支弄|弄|号)"
# What no name of a building holds: 人民路8号|旁边有个广场.
_NAME = rf"(?:(?![的有在旁边对附和与去到离就是了我你他她它们吃见等买走找说看这那吗吧呢啊给让把被从往])[{HAN}])"
_ROOM = r"(?:(?<=[楼层栋幢座元塔区期])[- ]?[A-Z]?[0-9]{3,4}(?![0-9年月日元人个块平米㎡台家间])|(?<=号) ?[0-9]{1,3}-[0-9]{1,3}(?:-[0-9]{1,4})?(?![0-9]))?"


@dataclass(frozen=True, slots=True)
class PlaceRules:
    """Patterns over a shadow: whole streets and villages with their numbers, blocks, and what stands before a block."""

    street: re.Pattern[str]
    village: re.Pattern[str]
    block: re.Pattern[str]
    short_block: re.Pattern[str]
    compound: re.Pattern[str]
    lead: re.Pattern[str]
    latin: re.Pattern[str]
    lower: re.Pattern[str]
    lane: re.Pattern[str]
    box: re.Pattern[str]
    abroad: re.Pattern[str]
    postcode: re.Pattern[str]


def parse_places(data: Mapping[str, Any]) -> PlaceRules:
    """The patterns of the table [places]."""
    places = _any([*data["buildings"], *data["compounds"]])
    whole = _any([w for w in (*data["buildings"], *data["compounds"]) if len(w) > 1])
    inside = rf"(?:[ ,]{{0,2}}{_UNIT})"
    part = rf"(?:[ ,]{{0,2}}(?:{_NAME}{{1,14}}?(?:{whole}){{1,2}}(?:(?<=园)区)?(?![{HAN}]{{0,3}}(?:的|有|旁|附近))(?:[一二三四五六七八九十]期)?(?:[ ,]{{0,2}}(?:{_UNIT}|[A-Z]?[0-9]{{3,4}}(?![0-9A-Za-z年月日元人个块平米㎡台家间号])))?|(?:[A-Z][A-Za-z]*[ ]){{0,3}}{_UNIT}))"
    tail = rf"(?:{part}){{0,6}}(?:[-#][0-9]{{1,5}})*{_ROOM}"
    building = r"(?<![0-9A-Za-z])[0-9A-Za-z]{1,4} ?(?:号楼|栋|幢|座|塔)"
    return PlaceRules(
        street=re.compile(
            rf"[{HAN}]{{1,8}}?(?P<head>{HEAD})(?:[东西南北中]?[一二三四五六七八九十]?段)?(?: ?[0-9]{{1,4}}(?:巷|弄|支弄|支路|街坊))?"
            rf" ?{_NUMBER} ?(?:弄|号楼|号{_NO_HOUSE})(?:院)?(?:之[一二三四五六七八九十])?{tail}"
        ),
        village=re.compile(
            rf"[{HAN}]{{1,8}}?(?:{_any(data['villages'])})(?P<group>第?{_NUMERAL}(?:村民)?(?:小?组|队|社|区|巷|弄))?(?P<house>{_NUMBER} ?(?:[栋幢] ?{_NUMBER} ?)?号{_NO_HOUSE}){tail}"
        ),
        block=re.compile(
            rf"{building}(?:{inside}){{1,5}}{_ROOM}|{building}[- ]?[0-9]{{3,4}}(?![0-9A-Za-z年块元人个平米台家间])"
        ),
        # Alone they may be anything; after the name of a compound or a building they are a door.
        short_block=re.compile(
            rf"{building}|(?<![0-9A-Za-z.-])[0-9]{{1,3}}-[0-9]{{1,3}}-[0-9]{{3,4}}(?![0-9-])|(?<![0-9A-Za-z.-])[0-9]{{1,3}}-[0-9]{{3,4}}(?![0-9-])"
            r"|(?<![0-9A-Za-z])[0-9]{1,3} ?[楼门][- ]?[0-9]{3,4}(?![0-9年人元块个平米台家间])"
        ),
        compound=re.compile(
            rf"(?P<name>{_NAME}{{1,14}}?(?:{places})(?:[一二三四五六七八九十0-9]{{1,2}}(?:期|区))?(?:[东西南北A-Z]区)?)[ ,]?\Z"
        ),
        lead=re.compile(
            r".*(?:[住在是到从往我的他她们了于为寄送省县镇乡,:。]|街道|地址|收件人|(?<!小)(?<!社)(?<!园)(?<!新)区|(?<!城)市)"
        ),
        latin=_latin(_any(data["streets"]), _any(data["street_marks"]), _any(data["units"])),
        lower=_lower(_any([s.lower() for s in data["streets"]]), _any([u.lower() for u in data["units"]])),
        lane=re.compile(
            rf"(?<![0-9A-Za-z])(?:(?:{_any(data['units'])})\.? ?#?[0-9][0-9A-Za-z]{{0,4}}, ?){{1,4}}(?:[A-Z][A-Za-z'’-]* ){{1,3}}(?:{_any(data['streets'])})\b"
        ),
        box=re.compile(r"(?<![A-Za-z])P\.? ?O\.? ?Box ?#?[0-9]{1,6}(?![0-9])", re.I),
        abroad=_abroad(data),
        postcode=re.compile(
            r"(?:,? ?(?:[A-Z][A-Za-z-]+,? ){0,2})?,? ?[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}(?![0-9A-Za-z])"
        ),
    )


def _any(words: Sequence[str]) -> str:
    return "|".join(re.escape(w) for w in sorted(words, key=len, reverse=True))


def _latin(streets: str, marks: str, units: str) -> re.Pattern[str]:
    """Apt 4, 12B North Oak Road, Suite 5: group 1 is the name."""
    unit = rf"(?:{units})\.? ?#?\w{{1,6}}(?:-[0-9]{{1,4}})?"
    return re.compile(
        rf"(?<![0-9A-Za-z.,$£€#])(?<![0-9][-.:])(?:(?:{unit}|[0-9]{{1,3}}(?:st|nd|rd|th) (?:f|F)loor),? ){{0,4}}(?:No\.? ?)?[0-9]{{1,5}}[A-Za-z]?(?:-[0-9]{{1,5}})? (?:[NSEW]\.? |North |South |East |West )?"
        rf"((?:(?:[A-Z][A-Za-z'’.-]*|[0-9]{{1,3}}(?:st|nd|rd|th)) ){{1,3}})(?:(?:{streets})\b|(?:{marks})\b\.?)(?!-[A-Za-z])"
        rf"(?: (?:North|South|East|West|Central|N|S|E|W|NE|NW|SE|SW)\b)?(?:,? ?(?:{unit}|#\w{{1,6}}|[0-9]{{1,3}}/F|[0-9]{{1,3}}(?:st|nd|rd|th) (?:f|F)loor)){{0,3}}"
    )


def _lower(streets: str, units: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?<![0-9A-Za-z.,$£€#])[0-9]{{1,5}}[a-z]? (?:[a-z0-9'’-]+ ){{1,3}}(?:{streets})\b(?:,? ?(?:{units})\.? ?#?\w{{1,6}})?",
        re.I,
    )


def _abroad(data: Mapping[str, Any]) -> re.Pattern[str]:
    """12, rue de Rivoli; Hauptstraße 12; a British door and its postcode: 14, AB1 2CD."""
    return re.compile(
        rf"(?<![0-9A-Za-z.,])[0-9]{{1,4}},? (?:bis |ter )?(?:{_any(data['before'])}) (?:d[eu]s? |de la |della |dei |d'|l')?[A-ZÀ-Þ][\wÀ-ÿ'’-]+(?: [A-ZÀ-Þ][\wÀ-ÿ'’-]+){{0,2}}"
        rf"|(?<![\w])[A-ZÄÖÜ][a-zäöüß-]{{2,24}}(?:{_any(data['joined'])}) [0-9]{{1,4}}[a-z]?(?![0-9A-Za-z.])"
        r"|(?<![0-9A-Za-z.,$£€#-])[0-9]{1,4}[A-Za-z]?, ?[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}(?![0-9A-Za-z])"
    )
