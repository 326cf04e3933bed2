"""Words one slip of the hand away from a word (SPEC R1)."""

from __future__ import annotations

from string import ascii_lowercase


def slips_of(word: str) -> list[str]:
    """The words that a letter left out, added or wrong, or two of them swapped, makes of a word in small letters, each once. The
    first letter is rarely wrong, so it stays.

    >>> "because" in slips_of("becuase"), "cause" in slips_of("clause"), "clause" in slips_of("clause")
    (True, True, False)
    """
    near: dict[str, None] = {}
    for i in range(1, len(word) + 1):
        head, tail = word[:i], word[i:]
        near.update(dict.fromkeys([head + letter + tail for letter in ascii_lowercase]))
        if tail:
            rest = tail[1:]
            near[head + rest] = None
            near.update(dict.fromkeys([head + letter + rest for letter in ascii_lowercase]))
        if len(tail) > 1:
            near[head + tail[1] + tail[0] + tail[2:]] = None
    near.pop(word, None)
    return list(near)
