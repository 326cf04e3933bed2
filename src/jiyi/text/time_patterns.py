"""The wordings of times, one pattern each (SPEC C8). The words themselves are data (`vocabulary/times.toml`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jiyi.text.time_reading import Piece, Reading, Words

Handler = Callable[[Reading, re.Match[str]], Piece]
_Row = tuple[str, Handler, Iterable[str]]

_SIGN = re.compile(r"[a-z]+|[^a-z\s]")
_DIGITS = "0123456789"


@dataclass(frozen=True, slots=True)
class Wording:
    """One wording. A text that it matches has one of `needs` among its signs; none where it may match in any text."""

    pattern: re.Pattern[str]
    handler: Handler
    needs: frozenset[str]


def signs_of(text: str) -> frozenset[str]:
    """The words of Latin letters in a text, in lower case, and every other character by itself. Most wordings are put aside by
    these, so that a text with one time in it is not searched for fifty."""
    return frozenset(_SIGN.findall(text.lower()))


def either(words: Iterable[str]) -> str:
    """One of several, longest first; a space is any space."""
    return "|".join(re.escape(w).replace(r"\ ", r"\s+") for w in sorted(words, key=len, reverse=True))


def wordings_of(words: Words) -> tuple[Wording, ...]:
    rows = [*_numeric(), *_chinese(words.zh), *_english(words.en)]
    # ASCII: between 前 and Friday there is a word boundary.
    flags = re.IGNORECASE | re.ASCII
    return tuple(Wording(re.compile(source, flags), handler, frozenset(needs)) for source, handler, needs in rows)


def _last(words: Iterable[str]) -> frozenset[str]:
    """The sign that each of the words ends with: 天 of 昨天, yesterday of "the day before yesterday"."""
    return frozenset(_SIGN.findall(word.lower())[-1] for word in words)


def _numeric() -> list[_Row]:
    edge = r"(?<![A-Za-z0-9_.\-/:])"
    time = (
        r"(?:[T ]\s*(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?::[0-5]\d(?:\.\d+)?)?"
        r"(?P<zone>Z|[+-][0-2]\d:?[0-5]\d)?(?![\d:]))?"
    )
    return [
        (
            rf"{edge}(?P<y>(?:19|20)\d\d)(?P<sep>[-/.])(?P<a>\d\d?)(?P=sep)(?P<b>\d\d?)(?![\d/\-]|\.\d){time}",
            Reading.numeric,
            _DIGITS,
        ),
        (rf"{edge}(?P<a>\d\d?)/(?P<b>\d\d?)/(?P<year_last>(?:19|20)\d\d)(?![\w/])", Reading.numeric, "/"),
        (rf"{edge}(?P<a>\d\d?)\.(?P<b>\d\d?)\.(?P<year_last>(?:19|20)\d\d)(?![\w/]|\.\d)", Reading.numeric, _DIGITS),
        # 2026-03 is a month; 2010-12 may be two years.
        (rf"{edge}(?P<y>20(?!0)\d\d)-(?P<m>0[1-9])(?![A-Za-z0-9_\-/:.])", Reading.year_month, "-"),
        (
            rf"{edge}(?P<h>[01]?\d|2[0-4])(?P<colon>:)(?P<mi>[0-5]\d)(?::[0-5]\d)?(?![\d:]|\s?[ap]\.?m)",
            Reading.clock,
            ":",
        ),
    ]


def _chinese(t: Mapping[str, Any]) -> list[_Row]:
    digits = "一二两三四五六七八九十百"
    # 前端 and 后台 are no directions of time.
    ways = r"(?:之|以)?(?P<{}>[前后])(?![台端期续缀面备悔果来勤遗院卫门者辈提途])"
    some = rf"(?<![\d.第几数上好约莫近{digits}])"
    n = rf"{some}(?P<n>\d{{1,3}}|[{digits}]{{1,5}})"
    year = (
        r"(?:(?P<y>(?<!\d)(?:19|20)\d\d\s?年|(?<![零〇一二三四五六七八九])[一二][零〇九][零〇一二三四五六七八九]{2}年)度?"
        rf"|(?P<ry>{either(t['years'])})|{some}(?P<yn>\d{{1,3}}|[{digits}]{{1,4}})年{ways.format('yd')})"
    )
    month = rf"(?<!农历)(?<!阴历)(?<!旧历)(?P<m>(?<!\d)(?:1[0-2]|0?[1-9])|十[一二]?|(?<!十)[一二三四五六七八九])\s?月份?(?!初[{digits}]|[天球饼亮])"
    day = r"(?P<d>3[01]|[12]\d|0?[1-9]|三十一?|二?十[一二三四五六七八九]?|[一二三四五六七八九])[日号]"
    spaced_day = day.replace("[日号]", r"\s?[日号]")  # 3 月 5 日, as some people space numbers
    # 5号楼, 7号球衣, 3日游: not days of the month.
    day_end = r"(?![楼线门店车房桌机院床库厅口馆选球位文字码服衣柜箱仓元游间内后站墙岁三千])"
    third = rf"(?P<third>{either(t['thirds'])})(?![{digits}日学国间期层秋中])"
    shift = rf"(?<![早晚以身楼路])(?P<s>{either(t['shifts'])})"
    units, part, seasons = either(t["units"]), either(t["parts"]), "".join(t["seasons"])
    weekday = r"(?:周(?=[一二三四五六日])|星期|礼拜)(?P<w>[一二三四五六日天])(?![次遍顿节趟回场个])"
    minutes = r"(?:(?P<half_past>半)|(?P<quarters>[一三])刻|(?P<mi>[0-5]\d|[零〇一二三四五六七八九十]{2,3})分?|(?P<mi2>\d|[一二三四五六七八九])分|整|钟)?"
    return [
        (rf"(?<![第个])(?:{year}的?\s?)?{month}(?:的?\s?{spaced_day}{day_end}|{third})?", Reading.month_day, "月"),
        (
            rf"{year}(?!的?(?:\d\d?|[{digits}]{{1,2}})月)(?:的?(?:年?{third}|(?P<half>[上下])半年"
            rf"|第?(?P<q>[一二三四1-4])季度|[Qq](?P<q2>[1-4])(?![A-Za-z0-9])|(?P<season>[{seasons}])[天季]))?",
            Reading.year,
            {"年", *_last(t["years"])},
        ),
        (rf"(?<![今去明前后本全每\d零〇一二三四五六七八九])年(?P<third>底|末|初)(?![{digits}])", Reading.year, "年"),
        (r"(?<![年去今明前后])(?P<half>[上下])半年", Reading.year, "半"),
        (r"(?<![\d年])第?(?P<q>[一二三四1-4])季度", Reading.year, "季"),
        (rf"{shift}(?P<season>[{seasons}])[天季]", Reading.shifted_season, "天季"),
        (rf"(?:{shift}|(?<![每隔\d{digits}几数]))(?P<bare>){weekday}", Reading.weekday_zh, "周期拜"),
        (rf"(?:{shift}|(?<![每个]))(?P<bare>)(?:周末|礼拜末)", Reading.weekend, "末"),
        (
            rf"{shift}(?P<u>周|星期|礼拜|月|季度)(?![一二三四五六日天末]|[期边围长刊报岁转全密球饼亮薪])"
            rf"(?:份?(?:的?{day}{day_end}|{third}))?",
            Reading.shifted,
            "周期拜月季",
        ),
        (
            rf"(?<![每个\d{digits}])(?P<u>月)(?P<third>底|末|初|中旬?|上旬|下旬)(?![{digits}国秋])",
            Reading.shifted,
            "月",
        ),
        (rf"{n}(?P<vague>多?个半|多个?|来个?)?个?(?P<u>{units}){ways.format('dir')}", Reading.distance, "前后"),
        (rf"(?P<n>半)个?(?P<u>{units}){ways.format('dir')}", Reading.distance, "半"),
        (rf"再过{n}(?P<vague>多)?个?(?P<u>{units})", Reading.distance, "过"),
        (rf"{n}个?(?P<u>天|周|星期|礼拜|月|年)(?:之|以)?内(?![容部心存])", Reading.within, "内"),
        (rf"(?<![目空以之今先日提当])(?P<day>{either(t['days'])})(?![性赋系])", Reading.day, _last(t["days"])),
        (rf"(?P<fused>{either(t['fused'])})", Reading.fused, _last(t["fused"])),
        (rf"(?<![\d月第\-/.A-Za-z{digits}])(?<!农历){day}{day_end}", Reading.day_of_month, "日号"),
        (rf"(?P<part>{part})", Reading.part, _last(t["parts"])),
        (
            rf"(?<![\d第:.])(?P<h>[01]?\d|2[0-4]|[{digits}]{{1,3}})[点时](?![间候代常刻]|建议|意见|要求|想法|理由|原因|内容|体会|看法|好处){minutes}",
            Reading.clock,
            "点时",
        ),
        (
            rf"(?:每[隔逢]?|隔|逢)(?:\d{{1,3}}|[{digits}半])?个?(?:天|日|早|晚|夜|周末|周|星期|礼拜|月|季度|年|小时|工作日|{part})"
            rf"(?:[一二三四五六日](?:[、和到至][一二三四五六日])*(?![次遍顿节趟回场个]))?(?:底|初|末)?(?:{day})?",
            Reading.recurring,
            "每隔逢",
        ),
        (
            r"(?<![上下这本个])(?:周|星期|礼拜)[一二三四五六日天](?:到|至|-|~)(?:周|星期|礼拜)?[一二三四五六日天]",
            Reading.recurring,
            "周期拜",
        ),
        (rf"(?<![今明昨前后])(?:{either(t['recurring'])})", Reading.recurring, _last(t["recurring"])),
    ]


def _english(t: Mapping[str, Any]) -> list[_Row]:
    months = rf"(?:{either(t['months'])}|(?-i:{either(t['capital_months'])}))\b(?:\.(?=\s?\d))?"
    month = rf"(?P<mon>{months})"
    weekdays = rf"(?:{either(t['weekdays'])}|(?-i:{either(t['short_weekdays'])}))"
    weekday = rf"(?P<w>{weekdays})\b"
    season = rf"(?P<season>{either(t['seasons'])})\b"
    shifted = rf"(?P<s>{either(t['shifts'])})\s+"
    # "the next week" and "the last Friday" are counted from elsewhere.
    shift = rf"(?<!the )\b{shifted}"
    vague = r"(?<!\d[.,])(?<!over )(?<!than )(?<!almost )(?<!nearly )(?<!about )(?<!and )"
    n = rf"{vague}\b(?P<n>\d{{1,3}}|half\s+an?|{either(t['numbers'])})\s+"
    units = rf"(?P<u>{either(t['units'])})s?\b"
    year = rf"(?:(?:,|,?\s+of)?\s+(?P<y>(?:19|20)\d\d)\b(?![:\-/])|\s+(?:of\s+)?(?P<ry>{either(t['years'])})\b)"
    number = r"(?:3[01]|[12]\d|0?[1-9])"
    day = rf"(?P<d>{number})(?:st|nd|rd|th)?\b"
    ordinal = rf"(?P<d>{number})(?:st|nd|rd|th)\b"
    until = rf"(?:\s?(?:-|–|to|through)\s?(?P<d2>{number})(?:st|nd|rd|th)?\b(?!\s?[ap]m))?"
    not_more = r"(?![:\-/]\d|\.\d|\s?(?:[ap]\.?m\b|%|percent|people|users|dollars|hours|minutes|days))"
    third = rf"(?P<third>{either(t['thirds'])})"
    quarter = rf"(?:(?-i:Q)(?P<q>[1-4])(?![A-Za-z0-9])|(?P<q2>{either(t['ordinals'])})\s+quarter\b)"
    stop = r"(?=\s*(?:[.,;!?)]|$)|\s+(?:of|at|and|or|to|we|i|for|with|in|from|because|so)\b)"
    a_month, a_weekday = _last((*t["months"], *t["capital_months"])), _last((*t["weekdays"], *t["short_weekdays"]))
    a_season, a_stretch = _last(t["seasons"]), {"week", "month", "quarter", "year"}
    a_unit = {*t["units"], *(f"{unit}s" for unit in t["units"])}
    return [
        (rf"\b{month}\s+(?:the\s+)?{day}{until}{not_more}{year}?", Reading.month_day, a_month),
        (rf"(?<![\d.,/:\-])\b(?:the\s+)?{day}(?:\s+of)?\s+{month}{year}?", Reading.month_day, a_month),
        (rf"\b(?:{third}[\s-]+)?{month},?{year}", Reading.month_day, a_month),
        (rf"\b{third}[\s-]+{month}(?!\s*\d)", Reading.month_day, a_month),
        (rf"\b(?:in|by|since|until|till|during)\s+(?P<core>{month})(?!\s*\d)", Reading.month_day, a_month),
        (rf"{shift}{month}(?!\s*\d)", Reading.shifted_month, a_month),
        (rf"\b(?:the\s+)?{season}{year}", Reading.year, a_season),
        (rf"{shift}{season}", Reading.shifted_season, a_season),
        (rf"\b(?:the\s+)?{quarter}{year}?", Reading.year, ("q", "quarter")),
        (r"(?<![A-Za-z0-9])(?P<y>20\d\d)[\s-]?(?-i:Q)(?P<q>[1-4])(?![A-Za-z0-9])", Reading.year, "q"),
        (
            r"\b(?:in|since|by|during|until|till)\s+(?P<core>(?P<y>(?:19|20)\d\d))\b(?![:\-/.]\d|\s+(?:dollars|people|users|euros))",
            Reading.year,
            _DIGITS,
        ),
        (rf"{shift}{weekday}(?!\s+of\b)", Reading.weekday_en, a_weekday),
        (rf"\b(?P<s>(?!))?{weekday}", Reading.weekday_en, a_weekday),
        (rf"(?:{shift}|\b)weekend\b", Reading.weekend, ("weekend",)),
        (
            rf"\b(?:the\s+)?(?P<third>{either(t['edges'])})\s+of\s+(?:the\s+|{shifted})?(?P<u>week|month|quarter|year)\b",
            Reading.shifted,
            a_stretch,
        ),
        (rf"{shift}(?P<u>week|month|quarter|year)\b(?!\s+of\b|-)", Reading.shifted, a_stretch),
        (r"\bthe\s+(?P<u>week|month|year)\s+(?P<beyond>after\s+next|before\s+last)\b", Reading.shifted, a_stretch),
        (rf"{n}{units}\s+(?P<dir>ago|from\s+(?:now|today))\b", Reading.distance, ("ago", "now", "today")),
        # "in a minute" is soon, "once in a year" a rate.
        (
            rf"(?<!once )(?<!twice )(?<!times )\bin\s+(?!a\s+(?:minute|min|day|year|month)\b){n}{units}(?!\s+(?:of|a|row)\b)",
            Reading.distance,
            a_unit,
        ),
        (rf"\bwithin\s+{n}(?P<u>day|week|month|year)s?\b", Reading.within, ("within",)),
        (rf"\b(?P<day>{either(t['days'])})\b", Reading.day, _last(t["days"])),
        (rf"\b(?P<fused>{either(t['fused'])})\b", Reading.fused, _last(t["fused"])),
        (rf"\b(?:on|by|until|till|before|since)\s+(?P<core>the\s+{ordinal}){stop}", Reading.day_of_month, _DIGITS),
        (rf"\bthe\s+{ordinal}(?=\s+of\s+(?:{either(t['shifts'])}|the)\s)", Reading.day_of_month, _DIGITS),
        (rf"\b(?:in\s+the\s+|at\s+)?(?P<part>{either(t['parts'])})\b", Reading.part, _last(t["parts"])),
        (
            r"(?<![\d:.$])\b(?P<h>1[0-2]|0?[1-9])(?:[:.](?P<mi>[0-5]\d))?\s?(?P<ap>[ap]\.m\.|[ap]m\b)",
            Reading.clock,
            _DIGITS,
        ),
        (r"\b(?P<noon>noon)\b", Reading.clock, ("noon",)),
        (
            r"(?<=\bat )(?P<h>1[0-2]|[1-9])(?:\s+o'clock)?\b(?![:.%,]\d|%|\s?[ap]\.?m|\s+(?!in\s+the|on\b|tomorrow|today|at\b)[a-z])",
            Reading.clock,
            _DIGITS,
        ),
        *_english_recurring(t, weekdays, a_weekday),
    ]


def _english_recurring(t: Mapping[str, Any], weekdays: str, a_weekday: Collection[str]) -> list[_Row]:
    always = [w for w in t["recurring"] if w not in ("every", "each")]
    each = "|".join(either(t[name]) for name in ("weekdays", "months", "units", "parts", "seasons"))
    return [
        (
            rf"\b(?:every|each)\s+(?:other\s+|single\s+|second\s+|\d+\s+|few\s+)?"
            rf"(?:{each}|weekend|weekday|\d+(?:st|nd|rd|th)(?:\s+of\s+(?:the|every|each)\s+month)?)s?\b",
            Reading.recurring,
            ("every", "each"),
        ),
        (
            rf"\b(?:on\s+)?(?:{either(t['weekdays'])})s\b|\b(?:{either(always)})\b(?!\s+(?:ago|later))",
            Reading.recurring,
            {*always, *(f"{w}s" for w in a_weekday)},
        ),
        (rf"\b{weekdays}\s*(?:to|through|-|–)\s*{weekdays}\b", Reading.recurring, ()),
        (
            r"\b(?:once|twice|\w+\s+times)\s+(?:a|per)\s+(?:day|week|month|quarter|year)\b",
            Reading.recurring,
            ("day", "week", "month", "quarter", "year"),
        ),
    ]
