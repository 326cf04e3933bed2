"""The values that statements name: where they begin and end, whether they say anything, and how they compare (SPEC C6, C10)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from jiyi.domain.memory import Language
from jiyi.domain.relations import Relation
from jiyi.pipelines.distilling.clauses import MASK, Clause, View, between_adjectives, trimmed
from jiyi.pipelines.distilling.grammar import Constructions, Grammar, compiled
from jiyi.pipelines.distilling.narrowing import Narrowing

# Longer objects are not values but stories.
LONGEST = {Language.ZH: 60, Language.EN: 150}
# A longer item is not one of a list: the text goes on.
LONGEST_ITEM = {Language.ZH: 8, Language.EN: 32}

_IDENTIFIER = re.compile(r"[./~]*[a-z0-9_$-]+(?:[._/\\:@-]+[a-z0-9_$-]+)*")
_NAMELIKE = re.compile(r"^\.|[._/\\:]|\d")
_QUOTES = {"`": "`", '"': '"', "“": "”", "「": "」", "『": "』", "'": "'"}
_LETTER = re.compile(r"[^\W\d_]")
# Two of a kind that a type knows: 阿司匹林和二甲双胍, sertraline and vitamin D.
_BOTH = re.compile(r"(\S+(?: \S+)?)(?: (?:and|&) |\s*(?:和|与|跟|以及|还有)\s*)(\S+(?: \S+)?)", re.I)
# Two names of things, each one word: Python 和 Go.
_PAIR = re.compile(r"([A-Z][A-Za-z0-9+#.]*)\s*(?:和|与|\band\b|&)\s*([A-Z][A-Za-z0-9+#.]*)")
_ITEMS = {
    "、": re.compile(r"、|(?<=[^、])(?:以及|还有|和)(?=[^、]+$)"),
    ",": re.compile(r"(?!(?<=\d),\d{3}(?!\d)),\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+"),
}
# A word that can share the description of the one before; playing and hiking stand by themselves.
_BARE = re.compile(r"[a-z]+(?<!ing)")
# The comma of 10,000 parts no items.
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class Objects:
    """Reads the objects of one language. `signs` are those of the sentence in which an object stands (see `Narrowing`)."""

    language: Language
    grammar: Grammar
    constructions: Constructions
    fold: Callable[[str], str]
    narrowing: Narrowing

    def find(self, view: View, start: int, end: int, relation: Relation, kind: str, signs: int) -> list[Clause]:
        """The objects in a stretch, one for each item of a list; none when one of them will not do.

        Args:
            kind: the type that the form asks for, else the relation's own is asked for.
        """
        asked = (start, end, relation.single, kind or relation.object_type)
        found = view.objects.get(asked)
        if found is None:
            found = view.objects[asked] = self._found(view, *asked, signs)
        return found

    def _found(self, view: View, start: int, end: int, single: bool, kind: str, signs: int) -> list[Clause]:
        whole = self.trim(view, start, end, signs)
        if single and self._undecided(view, whole, signs):
            return []
        spans = [whole] if single else self._items(view, whole, kind, signs)
        return spans if all(self._will_do(view, s, kind, signs) for s in spans) else []

    def _undecided(self, view: View, span: Clause, signs: int) -> bool:
        """Whether an object names one of two: PostgreSQL 16 or 17 is no version."""
        if not self.narrowing.may("undecided", signs):
            return False
        words = view.shadow, span.start, span.end
        return bool(self._pattern("undecided").search(*words)) and not self._pattern("decided").search(*words)

    def trim(self, view: View, start: int, end: int, signs: int) -> Clause:
        """An object without what hangs on it: 因为…, particles, quotes."""
        found = view.trims.get((start, end))
        if found is None:
            found = view.trims[start, end] = self._trim(view, start, end, signs)
        return found

    def _trim(self, view: View, start: int, end: int, signs: int) -> Clause:
        may = self.narrowing.may
        if may("cut", signs) and (cut := self._pattern("cut").search(view.shadow, start + 1, end)):
            end = cut.start()
        span = trimmed(view.shadow, start, end)
        if may("glue", signs) and (glue := self._pattern("glue").match(view.shadow, span.start, span.end)):
            span = trimmed(view.shadow, glue.end(), span.end)
        if may("tail", signs) and (tail := self._pattern("tail").search(view.shadow, span.start, span.end)):
            span = trimmed(view.shadow, span.start, tail.start())
        start, end = span.start, span.end
        if end - start > 2 and _QUOTES.get(view.text[start]) == view.text[end - 1]:
            return Clause(start + 1, end - 1)
        return span

    def said(self, view: View, span: Clause) -> str:
        """The object in the user's words, told from outside: 我的 → 自己的."""
        said = view.text[span.start : span.end]
        for source, instead in self.grammar.rewrite:
            said = compiled(source).sub(instead, said)
        return said

    def value(self, said: str, relation: Relation) -> str:
        """The object for comparing."""
        folded = self.fold(said).strip()
        if relation.object_type == "whereabouts":
            names = {m for m in _IDENTIFIER.findall(folded) if _NAMELIKE.search(m)}
            if names:
                # SPEC C10: where something is, however it is worded, is the set of things that name the place.
                return " ".join(sorted(names))
        value = folded
        if head := self._pattern("head").match(value):
            value = value[head.end() :]
        if tail := self._pattern("tail").search(value):
            value = value[: tail.start()]
        return value.strip(" .,。，!！") or folded

    def names(self, view: View, span: Clause, signs: int) -> bool:
        """Whether a span could be a name, rather than a pronoun or a pointing word."""
        return not (
            self.narrowing.may("reject", signs) and self._pattern("reject").match(view.shadow, span.start, span.end)
        )

    def is_a(self, view: View, span: Clause, kind: str) -> bool:
        """Whether a span is of a type. Quoted values are looked at without their quotes."""
        words = view.shadow[span.start : span.end]
        if MASK in words:
            said = zip(words, view.text[span.start : span.end], strict=True)
            words = "".join(t if s == MASK else s for s, t in said).strip('`"“”「」『』 ')
        vague = self.constructions.vague.get(kind)
        if vague is not None and compiled(vague).fullmatch(words):
            return False
        pattern = self.constructions.types.get(kind)
        return pattern is None or compiled(pattern).fullmatch(words) is not None

    def _will_do(self, view: View, span: Clause, kind: str, signs: int) -> bool:
        start, end = span.start, span.end
        if not 0 < end - start <= LONGEST[self.language]:
            return False
        if kind in self.constructions.spelled_out:
            return self.is_a(view, span, kind)
        if self.narrowing.may("never", signs) and self._pattern("never").search(view.shadow, start, end):
            return False
        if kind not in self.constructions.plain and not self.names(view, span, signs):
            return False
        # A number without its unit says nothing; where a type asks for a number, the type checks it.
        if kind not in self.constructions.types and not _LETTER.search(view.text, start, end):
            return False
        return self.is_a(view, span, kind)

    def _items(self, view: View, span: Clause, kind: str, signs: int) -> list[Clause]:
        """The items of a plain list (茶、咖啡和可乐), or the whole: 海滩、山脉附近 is one thing."""
        words = view.shadow[span.start : span.end]
        marks = _THOUSANDS.sub("", words) if "," in words else words
        sign = next((s for s in _ITEMS if s in marks), "")
        if not sign and (pair := _PAIR.fullmatch(words)):
            return [Clause(span.start + pair.start(i), span.start + pair.end(i)) for i in (1, 2)]
        if not sign and kind in self.constructions.paired and (pair := _BOTH.fullmatch(words)):
            both = [Clause(span.start + pair.start(i), span.start + pair.end(i)) for i in (1, 2)]
            return both if all(self.is_a(view, each, kind) for each in both) else [span]
        if not sign:
            return [span]
        if self.narrowing.may("no_list", signs) and self._pattern("no_list").search(view.shadow, span.start, span.end):
            return [span]
        items, at = [], span.start
        for match in _ITEMS[sign].finditer(view.shadow, span.start, span.end):
            if between_adjectives(view.shadow, span.start, match.span(), span.end):
                return [span]
            items.append(trimmed(view.shadow, at, match.start()))
            at = match.end()
        items.append(trimmed(view.shadow, at, span.end))
        if any(not 0 < i.end - i.start <= LONGEST_ITEM[self.language] for i in items) or self._described(view, items):
            return [span]
        return items

    def _described(self, view: View, items: list[Clause]) -> bool:
        """Whether the first word describes all of them: Spanish culture, music and cuisine."""
        first = items[0]
        blank = view.shadow.find(" ", first.start, first.end)
        if blank < 0 or not self.is_a(view, Clause(first.start, blank), "nationality"):
            return False
        return all(_BARE.fullmatch(view.shadow, i.start, i.end) for i in items[1:])

    def _pattern(self, name: str) -> re.Pattern[str]:
        return compiled(self.grammar.patterns[name])
