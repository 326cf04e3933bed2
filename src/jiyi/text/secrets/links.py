"""Where a login stands in an address, a command, a header or a cookie (SPEC C11)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jiyi.text.redaction_rules import BLANK, RedactionRules
from jiyi.text.secrets.hits import Hit, lowered
from jiyi.text.secrets.keys import is_drawn, is_reference

_USER_INFO = re.compile(rf"://[^\s:/@\"'<>{BLANK}]*:([^\s/\"'<>,{BLANK}]+)@")
# A password with / in it. Not a port: http://host:8080/x@y.
_SLASHED = re.compile(rf"://[^\s:/@\"'<>{BLANK}]*:(?![0-9]{{1,5}}/)([^\s@\"'<>,{BLANK}]{{4,100}})@(?=[\w-])")
_HOST = re.compile(r"[\w.-]+(?::[0-9]{1,5})?(?=[/,?#\s\"'<>]|\Z)|\[[0-9a-f:]+\]", re.I)
_MORE_OF_IT = re.compile(rf"[^\s\"'<>?{BLANK}]{{1,100}}@(?=[\w.-]+)")
# https://TOKEN@host, ss://BASE64@host, and the key of a Sentry address
_TOKEN_INFO = re.compile(r"://([A-Za-z0-9_.+/=~-]{16,400})@(?=[\w-]+(?:\.[\w-]+)+)")
# root:secret@host, as ssh, scp and ftp clients take it
_AT_HOST = re.compile(
    rf"(?<![\w/:.@-])[A-Za-z][\w.-]{{0,31}}:([^\s/:@,;\"'<>{BLANK}]{{4,64}}(?:@[^\s/:@,;{BLANK}]{{0,20}})??)@(?=[\w-]+(?:\.[\w-]+)+|localhost)"
)
_COMMAND = re.compile(
    rf"\bmysql(?:dump|admin)?\b[^\n;|]{{0,80}}? -p(?! )['\"]?([^\s'\"{BLANK}]{{4,64}})|\bredis-cli\b[^\n;|]{{0,80}}? -a ['\"]?([^\s'\"{BLANK}]{{4,64}})"
    rf"|\bsshpass -p ?['\"]?([^\s'\"{BLANK}]{{4,64}})|\b(?:curl|wget|http)\b[^\n;|]{{0,120}}? (?:-u|--user)[ =]?['\"]?[\w.@-]{{1,64}}:([^\s'\"{BLANK}]{{4,64}})"
    rf"|\b(?:docker|podman|helm|az|oras|nerdctl)\b[^\n;|]{{0,20}}?login\b[^\n;|]{{0,80}}? -p[ =]?['\"]?([^\s'\"{BLANK}]{{4,400}})"
    rf"|\b(?:unzip|zip)\b[^\n;|]{{0,60}}? -P ?['\"]?([^\s'\"{BLANK}]{{4,64}})|\b(?:rar|unrar|7z)\b[^\n;|]{{0,60}}? -p['\"]?([^\s'\"{BLANK}]{{4,64}})|\bnet use\b[^\n;|]{{0,20}}?\\\\\S{{1,80}} ([^\s/{BLANK}]{{4,64}})(?= /user)"
    rf"|\bjdbc:oracle:[a-z0-9]+:[\w.-]{{1,64}}/([^\s@/{BLANK}]{{4,64}})@|\bsqlplus [\w.-]{{1,64}}/([^\s@/{BLANK}]{{4,64}})@"
    rf"|(?<![\w.])[\w.*-]{{1,100}}:(?:\*|5432|5433|6432):[\w*-]{{1,64}}:[\w*.-]{{1,64}}:([^\s:{BLANK}]{{4,128}})"
)
_BEARER = re.compile(
    r"\bbearer\s+([A-Za-z0-9._~+/-]{16,}=*)|authorization\W{1,4}basic\s+([A-Za-z0-9+/]{8,}=*)"
    r"|authorization\W{1,4}(?!bearer|basic)[a-z][\w-]{2,20}\s+(?![a-z]+\W?=)([A-Za-z0-9._~+/-]{16,}=*)",
    re.I,
)
_RAW = re.compile(r"authorization[\"']?\s?[:=]\s?[\"']?([A-Za-z0-9._~+/=-]{20,})", re.I)
_SIGNATURE = re.compile(r"\b(?:signature|response)=\"?([A-Za-z0-9+/_=-]{24,})", re.I)
_COOKIE_LINE = re.compile(r"cookie[^\n=]{0,24}?[\s:'\"(]([^\n]{8,})", re.I)
_COOKIE = re.compile(rf"[\w.%-]+=([^;,\s\"'&<>{BLANK}]{{16,}})")


def user_infos(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _USER_INFO.finditer(shadow):
        if is_reference(match[1]):
            continue
        end = match.end(1)
        # A password with @ or / in it: what follows the first @ is no host.
        while not _HOST.match(shadow, end + 1) and (more := _MORE_OF_IT.match(shadow, end + 1)):
            end = more.end() - 1
        yield Hit(match.start(1), end, "password")
    for match in _SLASHED.finditer(shadow):
        if "/" in match[1] and not is_reference(match[1]):
            yield Hit(*match.span(1), "password")
    for match in _TOKEN_INFO.finditer(shadow):
        if is_drawn(match[1]):
            yield Hit(*match.span(1), "api_key")


def logins(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _AT_HOST.finditer(shadow):
        if any(c.isdigit() for c in match[1]) and "://" not in shadow[max(0, match.start() - 8) : match.start()]:
            yield Hit(*match.span(1), "password")


def commands(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _COMMAND.finditer(shadow):
        if not is_reference(match[match.lastindex or 0]):
            yield Hit(*match.span(match.lastindex or 0), "password")


def headers(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _BEARER.finditer(shadow):
        if any(c.isdigit() for c in match.group()):
            yield Hit(*match.span(match.lastindex or 0), "api_key")
    for match in _RAW.finditer(shadow):
        if is_drawn(match[1], 20):
            yield Hit(*match.span(1), "api_key")
    if "uthorization" in shadow:
        for match in _SIGNATURE.finditer(shadow):
            yield Hit(*match.span(1), "api_key")


def parameters(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    """What a signed or secret address gives away."""
    for match in rules.parameters.finditer(lowered(shadow)):
        if is_drawn(shadow[match.start(1) : match.end(1)]):
            yield Hit(*match.span(1), "api_key")


def cookies(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    lower = lowered(shadow)
    for match in rules.cookies.finditer(lower):
        value = shadow[match.start(1) : match.end(1)]
        if is_drawn(value) or (value.isalnum() and not value.isalpha() and not value.isdigit()):
            yield Hit(*match.span(1), "api_key")
    if "cookie" in lower:
        for line in _COOKIE_LINE.finditer(shadow):
            for match in _COOKIE.finditer(shadow, *line.span(1)):
                if is_drawn(match[1]):
                    yield Hit(*match.span(1), "api_key")
