"""Which of the two languages a text is in, by its letters."""

from __future__ import annotations

from jiyi.domain.memory import Language


def language_of(text: str, default: Language = Language.ZH) -> Language:
    """Chinese when at least a fifth of the letters are Han, as mixed Chinese text keeps its English terms."""
    han = sum("\u3400" <= c <= "\u9fff" for c in text)
    letters = sum(c.isalpha() for c in text)
    if not letters:
        return default
    return Language.ZH if han * 5 >= letters else Language.EN
