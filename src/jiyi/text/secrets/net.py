"""Where e-mail and IP addresses stand (SPEC C11)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from jiyi.text.redaction_rules import RedactionRules
from jiyi.text.secrets.hits import Hit, is_near

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
    r"(?<![0-9A-Za-z.])(?<![0-9A-Za-z:]:)(?<!::)[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3})?(?![0-9A-Za-z:])"
)
_VERSION = re.compile(
    r"(?:(?<![A-Za-z])(?:v|ver|version|release|section|chapter|build)|版本号?|版|升级到|升到|更新到|降到|章|节|第)[^0-9A-Za-z]{0,6}\Z|(?<![A-Za-z])(?:§|==|>=|<=|~=|\^)\s?\Z",
    re.I,
)
_VERSION_AFTER = re.compile(
    r"\s?(?:版|节|章|条|小节|升级|升到|升至|降级|降到|以上|及以上|or later|or newer|release|is released|was released)"
)
_NAME_BEFORE = re.compile(
    r"(?<![A-Za-z])(?!(?:at|on|to|is|from|via|in|and|or|by|node|box|vm|machine)[ /@-])([A-Za-z][A-Za-z.+#-]*)[ /@-]\Z"
)


# anna [at] example dot com; anna @ example.com after a word for mail
_SPELT_EMAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]{2,64}(?: ?[\[(]at[\])] ?| at )[A-Za-z0-9-]{2,40}(?:(?: ?[\[(]dot[\])] ?| dot )[A-Za-z0-9-]{2,24}){0,2}(?: ?[\[(]dot[\])] ?| dot |\.)"
    r"(?:com|net|org|io|cn|edu|gov|de|uk|fr|co|me|info|dev)\b",
    re.I,
)
_SPACED_EMAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]{2,64} ?@ ?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}(?![A-Za-z0-9-])", re.ASCII
)


def spelt_emails(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _SPELT_EMAIL.finditer(shadow):
        if re.search(r"\bdot\b|[\[(]at[\])]", match.group(), re.I):
            yield Hit(*match.span(), "email")
    for match in _SPACED_EMAIL.finditer(shadow):
        if (" @" in match.group() or "@ " in match.group()) and is_near(shadow, match.start(), "email", rules):
            yield Hit(*match.span(), "email")


def emails(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
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


def ip_addresses(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _IPV4.finditer(shadow):
        network = match.group().endswith(".0") and shadow[match.end() : match.end() + 1] == "/"
        if not network and not _is_version(shadow, match, rules) and not _is_general(match.group(), rules):
            yield Hit(*match.span(), "ip")


def _is_version(shadow: str, match: re.Match[str], rules: RedactionRules) -> bool:
    """Four numbers with dots are a version after its words, and after a name where all of them are small."""
    start = match.start()
    if _VERSION.search(shadow, max(0, start - 16), start) or _VERSION_AFTER.match(shadow, match.end()):
        return True
    if shadow[start - 1 : start] == "@":
        return "://" in shadow[max(0, start - 300) : start]  # the host of a connection string stays
    if is_near(shadow, start, "ip", rules):
        return False
    octets = [int(o) for o in match.group().split(".")]
    if max(octets) >= 100:
        return False
    return max(octets) < 10 or _NAME_BEFORE.search(shadow, max(0, start - 24), start) is not None


def _is_general(address: str, rules: RedactionRules) -> bool:
    """Addresses that name nobody's machine: 127.0.0.1, 0.0.0.0, masks, broadcast."""
    parsed = ipaddress.IPv4Address(address)
    return (
        address in rules.public_ips or parsed.is_loopback or parsed.is_multicast or address.startswith(("0.", "255."))
    )


def ipv6_addresses(shadow: str, rules: RedactionRules) -> Iterator[Hit]:
    for match in _IPV6.finditer(shadow):
        # A colon of the sentence may stand before it: 地址:2001:….
        written = match.group().removeprefix(":") if not match.group().startswith("::") else match.group()
        try:
            parsed = ipaddress.IPv6Address(written)
        except ValueError:
            continue
        groups = [g for g in written.split(":") if g]
        # std::vec, 12::30 and the like parse too; addresses of machines begin so.
        known = parsed.exploded[0] in "23" or parsed.is_link_local or parsed.is_private
        special = parsed.is_loopback or parsed.is_unspecified or not any(c.isdigit() for c in written)
        if known and not special and len(groups[0]) >= 3 and len(groups) >= 2:
            yield Hit(match.end() - len(written), match.end(), "ip")
