"""Where secrets and personal numbers stand in a text (SPEC C11): shapes, checksums, and the words around them.

Everything works on a *shadow* of the text: same length, full-width and other digits folded to ASCII, labels blanked out. So a
position in the shadow is a position in the text.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator

from jiyi.text.redaction_rules import RedactionRules
from jiyi.text.secrets import keys, links, net, numbers, places
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
    (re.compile("-----BEGIN|Private-Lines"), keys.private_keys),
    (re.compile("://"), links.user_infos),
    (re.compile("@"), links.logins),
    (re.compile(r" -[paupP]|--user|net use|jdbc:|sqlplus|:(?:\*|5432|5433|6432):"), links.commands),
    (None, keys.vendor_keys),
    (re.compile("[Bb]earer|BEARER|[Aa]uthorization|AUTHORIZATION"), links.headers),
    (re.compile("[?&#;][A-Za-z]"), links.parameters),
    (re.compile("="), links.cookies),
    (None, keys.assigned_values),
    (re.compile("_(?:key|KEY|Key)"), keys.other_keys),
    (re.compile("[密口令钥码]"), keys.distant_values),
    (re.compile(";"), keys.settings_of_strings),
    (re.compile(r"[Cc]red(?:s|en)|[Ll]og ?in\b|LOGIN|账号密码|用户名密码|账密"), keys.paired_values),
    (
        re.compile(r"[0-9] ?(?:[iI]s |[aA]s |是|为)(?:.{0,40}(?:[cC]ode|CODE|[oO][tT][pP]|[pP][iI][nN])|.{0,16}码)"),
        keys.told_codes,
    ),
    (None, keys.pass_phrases),
    (re.compile("[0-9]|[pP]ass|PASS|密码|授权码"), numbers.named_values),
    (re.compile("@"), net.emails),
    (re.compile(" @|@ | dot |[([]dot| DOT |[([]DOT"), net.spelt_emails),
    (re.compile(r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]"), net.ip_addresses),
    (re.compile(":[0-9A-Fa-f]{0,4}:"), net.ipv6_addresses),
    (re.compile(r"[0-9](?:[- ]?[0-9]){13}"), numbers.id_cards),
    (re.compile(r"[0-9](?:[- .]?[0-9]){12}"), numbers.cards),
    (re.compile(r"1[- .]?[3-9](?:[- .]{0,2}[0-9]){9}"), numbers.mobiles),
    (None, numbers.phones),
    (re.compile(r"[0-9]{3}[- ]?[0-9][0-9][- ]?[0-9]{4}"), numbers.ssns),
    (re.compile(r"[A-Z]{2}[0-9]{2}|[0-9]{14}(?<=[a-z][0-9]{14})"), numbers.ibans),
    (re.compile(r"[159ANY][1-9][0-9]{6}"), numbers.credit_codes),
    (re.compile("护照|通行证|(?i:passport)"), numbers.passports),
    (re.compile("[\u4e00-\u9fff][A-Z]|车牌|牌照|(?i:plate)"), numbers.plates),
    (re.compile(r"[0-9〇零一二三四五六七八九十百] ?(?:号|弄)"), places.zh_streets),
    (
        re.compile(
            r"[0-9A-Za-z] ?(?:号楼|栋|幢|座|塔)|[\u4e00-\u9fff] ?[0-9]{1,3}-[0-9]|[A-Z]区[0-9]|[0-9] ?[楼门][- ]?[0-9]"
        ),
        places.zh_blocks,
    ),
    (re.compile(r"[村屯庄寨屋区组][第0-9〇零一二三四五六七八九十]"), places.zh_villages),
    (re.compile(r"[0-9][A-Za-z]?,? [A-Za-z0-9]"), places.en_addresses),
    (
        re.compile(
            r"[bB]ox ?#?[0-9]|BOX ?#?[0-9]|(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse|damm|ufer) [0-9]|[0-9][A-Za-z]?, ?[A-Z]{1,2}[0-9]"
            r"|[0-9],? (?:bis |ter )?(?:[rR]u[ea]|[vV]ia|[aA]ven|boul|quai|all|imp|[pP]iaz|[cC]alle)"
        ),
        places.other_addresses,
    ),
)
"""Each with what a text must hold for it to be worth running."""
