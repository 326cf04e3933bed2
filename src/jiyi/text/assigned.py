"""Where a value ends that was assigned to a name, such as a password (SPEC C11)."""

from __future__ import annotations

import re

BLANK = "\ue000"
"""Stands for each character of a label. No detector reads over it."""
BARE = rf"[^\s\"'“”‘’「」`<>(){{}}\[\]|,;&\u3000-\u303f\u3400-\u9fff\uff00-\uffef{BLANK}]"
"""A character of a value without quotation marks. What else it may hold is told by what stands around: `whole_value`."""

# What ends most values and stands inside some: hunter2&x, a1;b2, Xk9(ab)c. Not before another name with its value.
_GOES_ON = re.compile(rf"(?P<mark>[|,;&<>(){{}}\[\]]{{1,4}}|[\"'])(?![\w.-]{{1,40}}\s?[=:])(?P<more>{BARE}+)")
_SPOKEN = re.compile("[a-z]+|[是为成的叫]")


def whole_value(shadow: str, start: int, end: int, join: str) -> int:
    """Where a password ends that holds what usually ends one. Code, lists and sentences go on after such a mark too: there
    is a digit in it, or the mark is no comma, or a bracket that was not written as a call."""
    spoken = _SPOKEN.search(join) is not None
    while more := _GOES_ON.match(shadow, end):
        value, mark = shadow[start : more.end()], more["mark"]
        calls = mark[0] in "([{<" and not spoken and shadow[start:end].replace("_", "").replace(".", "").isalpha()
        sentence = mark[0] in ",;" and (shadow[start:end].isalpha() or more["more"].isalpha())
        if calls or (sentence and not any(c.isdigit() for c in shadow[start:end])) or not value.isascii():
            break
        if not any(c.isdigit() for c in value) and not (spoken and mark[0] not in ",;"):
            break
        end = more.end()
    return end
