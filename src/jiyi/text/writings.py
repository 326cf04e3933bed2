"""How a folded word may stand in a text as it was written: for plain scans, where no index has folded it."""

from __future__ import annotations

from functools import cache

from opencc import OpenCC


@cache
def _to_traditional() -> OpenCC:
    return OpenCC("s2t")


def writings(words: str) -> tuple[str, ...]:
    """The words, capitalised, as a title, in capitals, and in traditional characters; without repeats.

    >>> writings("nginx")
    ('nginx', 'Nginx', 'NGINX')
    >>> writings("the who")
    ('the who', 'The who', 'The Who', 'THE WHO')
    >>> writings("数据")
    ('数据', '數據')
    """
    forms = [words, words.capitalize(), words.title(), words.upper()]
    if not words.isascii():
        forms.append(_to_traditional().convert(words))
    return tuple(dict.fromkeys(forms))
