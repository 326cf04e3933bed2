"""Where secrets and personal numbers stand in a text (SPEC C11): shapes, checksums, and the words around them.

Everything works on a *shadow* of the text: same length, full-width and other digits folded to ASCII, labels blanked out. So a
position in the shadow is a position in the text.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator

from jiyi.text.redaction_rules import RedactionRules
from jiyi.text.secrets import keys, net, numbers, places
from jiyi.text.secrets.hits import Hit as Hit
from jiyi.text.secrets.shadow import shadow_of as shadow_of


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


_DETECTORS: tuple[tuple[re.Pattern[str] | None, Callable[[str, RedactionRules], Iterator[Hit]]], ...] = (
    (re.compile("-----BEGIN"), keys.private_keys),
    (re.compile("://"), keys.user_infos),
    (re.compile(r"@| -[pau]|--user"), keys.logins),
    (None, keys.vendor_keys),
    (re.compile(r"(?i:bearer|basic) "), keys.bearers),
    (None, keys.assigned_values),
    (None, keys.pass_phrases),
    (re.compile("@"), net.emails),
    (re.compile(r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]"), net.ip_addresses),
    (re.compile(":[0-9A-Fa-f]{0,4}:"), net.ipv6_addresses),
    (re.compile(r"[0-9](?:[- ]?[0-9]){13}"), numbers.id_cards),
    (re.compile(r"[0-9](?:[- .]?[0-9]){12}"), numbers.cards),
    (re.compile(r"1[ -]?[3-9](?:[- .]{0,2}[0-9]){9}"), numbers.mobiles),
    (None, numbers.phones),
    (re.compile(r"[0-9]{3}[- ]?[0-9][0-9][- ]?[0-9]{4}"), numbers.ssns),
    (re.compile(r"[A-Z]{2}[0-9]{2}"), numbers.ibans),
    (re.compile(r"[159ANY][1-9][0-9]{6}"), numbers.credit_codes),
    (re.compile("护照|通行证|(?i:passport)"), numbers.passports),
    (re.compile("[\u4e00-\u9fff][A-Z]|车牌|(?i:plate)"), numbers.plates),
    (re.compile(r"[0-9〇零一二三四五六七八九十百](?:号|栋|幢|座|弄)"), places.zh_addresses),
    (re.compile(r"[0-9][A-Za-z]? [A-Za-z0-9]"), places.en_addresses),
)
"""Each with what a text must hold for it to be worth running."""
