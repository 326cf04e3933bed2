"""Which of the two languages a text is in, by its letters."""

from __future__ import annotations

import re

from jiyi.domain.memory import Language

_HAN = re.compile("[\u3400-\u9fff]")


def language_of(text: str, default: Language = Language.ZH) -> Language:
    """Chinese when at least a fifth of the letters are Han, as mixed Chinese text keeps its English terms."""
    letters = sum(map(str.isalpha, text))
    if not letters:
        return default
    han = len(_HAN.findall(text))
    return Language.ZH if han * 5 >= letters else Language.EN
