"""Go through a text clause by clause and collect what it states: the reader behind the distiller (SPEC C3, C6, C9).

The cheap question comes first: does a clause fit a construction at all? Only then is it asked whether the words around
it take it back: a question, an if, a request, a perhaps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from jiyi.domain.language import language_of
from jiyi.domain.memory import Category, Language, Mode
from jiyi.domain.relations import COMPANY, USER, Relation, Vocabulary
from jiyi.pipelines.distilling.apposition import apposition
from jiyi.pipelines.distilling.clauses import Clause, Sentence, View, clauses, sentences, trimmed
from jiyi.pipelines.distilling.fitting import NEAR, Fitter, Found, Talk, Who
from jiyi.pipelines.distilling.grammar import Constructions, Grammar, compiled
from jiyi.pipelines.distilling.narrowing import Narrowing
from jiyi.pipelines.distilling.objects import Objects
from jiyi.pipelines.distilling.triggers import Triggers

# What is kept on request has at least this many characters, else there is nothing to keep (记住了).
SHORTEST_KEPT = {Language.ZH: 4, Language.EN: 12}
# Other parties that 他们 can stand for are the objects of these types.
PARTIES = frozenset({"organisation", "party"})

# What makes all of a message somebody else's, and what the rest of it.
_ENDS = ("message", "rest")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Plain:
    """A sentence that plainly states something: as `said`, `words` the same folded in lower case, `own` of the user, `dated`
    by a known day."""

    start: int
    end: int
    said: str
    words: str
    language: Language
    own: bool
    dated: bool


class Reader:
    """Reads both languages. Built once; keeps nothing between texts."""

    def __init__(self, vocabulary: Vocabulary, constructions: Constructions, fold: Callable[[str], str]) -> None:
        self._fold = fold
        self._introduces = constructions.introduces
        self._fitters: Mapping[Language, Fitter] = {
            language: Fitter(
                language,
                grammar,
                constructions,
                vocabulary,
                Triggers(vocabulary, language, constructions.only_find),
                Objects(language, grammar, constructions, fold, narrowing),
                narrowing,
            )
            for language, grammar in constructions.grammars.items()
            for narrowing in [Narrowing(grammar.forms, grammar.cues)]
        }
        # What ends the user's own talk, in either language: the pattern, by a name.
        ends = {
            f"{name} {k}": (k, g.patterns[k], g.cues[k]) for name, g in constructions.grammars.items() for k in _ENDS
        }
        self._ends = [(name, kind, source) for name, (kind, source, _) in ends.items()]
        self._ending = Narrowing((), {name: cues for name, (_, _, cues) in ends.items()})

    def read(self, view: View) -> list[Found]:
        """Everything that a message of talk states."""
        talk = Talk()
        found: list[Found] = []
        said = list(sentences(view.shadow))
        talk.alone = len(said) == 1
        for sentence in said:
            scan = self._scan(view, sentence, talk)
            read = scan.sentence(sentence)
            found += read
            if not sentence.asked:
                found += scan.presupposed(sentence, read)
            talk.first = False
        return self._talk_only(view, found) if found else found

    def plain(self, view: View) -> list[Plain]:
        """The sentences of the user's own talk that plainly state something: nothing is asked, supposed, requested or
        somebody else's word in them."""
        end, talk = self._own_end(view), Talk()
        if end is None:
            return []
        said = [s for s in sentences(view.shadow) if not s.asked and s.start < end]
        return [p for s in said if (p := self._scan(view, s, talk).plain(s)) is not None]

    def read_declared(self, view: View) -> list[Found]:
        """What a text states that is to be kept; the whole text as well, when the rules do not explain all of it."""
        talk = Talk(declared=True)
        found: list[Found] = []
        explained = True
        for sentence in sentences(view.shadow):
            read = self._scan(view, sentence, talk).keep(sentence.start, sentence.end)
            found += [f for f in read if f.relation is not None]
            explained = explained and all(f.relation is not None for f in read)
            talk.first = False
        return found if found and explained else [*found, self._whole(view, talk)]

    def read_verbatim(self, view: View) -> Found:
        """All of a text as it stands, of no category of its own."""
        return replace(self._whole(view, Talk(declared=True)), category=Category.GENERAL)

    def _whole(self, view: View, talk: Talk) -> Found:
        whole = Sentence(0, len(view.text), asked=False)
        return self._scan(view, whole, talk).free(trimmed(view.shadow, 0, len(view.shadow)))

    def subject(self, relation: Relation, written: str, language: Language) -> str | None:
        """What a fact of the relation is filed under whose subject is written so (我妈妈, Anna, 我们公司); None without one."""
        fitter, talk = self._fitters[language], Talk(declared=True)
        who = fitter.who(written, talk)
        return None if who is None else fitter.filed(relation, who, talk)

    def speaks(self, view: View) -> bool:
        """Whether a text begins with a word for whom it speaks of (I, 她, my sister), and goes on. A name alone does not show it,
        nor does whose something is: my old house."""
        for sentence in sentences(view.shadow):
            scan = self._scan(view, sentence, Talk(declared=True))
            for clause in clauses(view.shadow, sentence.start, sentence.end, scan.grammar)[:1]:
                return scan.speaks(scan.lead(clause))
        return False

    def _scan(self, view: View, sentence: Sentence, talk: Talk) -> _Scan:
        words = view.shadow[sentence.start : sentence.end]
        first = _LETTER.search(words)
        # 代码仓库在 git@example.com:… is Chinese, however long the address.
        language = Language.ZH if first and "\u4e00" <= first.group() <= "\u9fff" else language_of(words)
        fitter = self._fitters[language]
        talk.signs = fitter.narrowing.signs(view.lower, sentence.start, sentence.end)
        return _Scan(view, language, fitter.grammar, fitter, talk, self._fold, self._introduces)

    def _talk_only(self, view: View, found: list[Found]) -> list[Found]:
        """Without what is not the user's own talk: role play, and text that was handed over to be worked on."""
        end = self._own_end(view)
        return [f for f in found if (f.kept if end is None else f.start < end)]

    def _own_end(self, view: View) -> int | None:
        """Where the user's own talk ends; None when nothing of it is the user's own."""
        end = len(view.shadow)
        signs = self._ending.signs(view.lower, 0, end)
        for name, kind, source in self._ends:
            if self._ending.may(name, signs) and (found := compiled(source).search(view.shadow)):
                if kind == "message":
                    return None
                end = min(end, found.start())
        return end


@dataclass(slots=True)
class _Scan:
    """One sentence under the eye of the reader."""

    view: View
    language: Language
    grammar: Grammar
    fitter: Fitter
    talk: Talk
    fold: Callable[[str], str]
    introduces: frozenset[str]

    # ------------------------------------------------------------------ sentences

    def sentence(self, sentence: Sentence) -> list[Found]:
        start, end = sentence.start, sentence.end
        parts = clauses(self.view.shadow, start, end, self.grammar)
        if not parts:
            return []
        if not sentence.asked:
            kept = self._asked_to_keep(parts, end)
            if kept is None:
                kept = self._instruction(parts, start, end)
            if kept is not None:
                return kept
        elif self.match("asks", self.lead(parts[0]).start, end):
            return []
        if sentence.asked:
            tag = len(parts) > 1 and self.match("tag", parts[-1].start, parts[-1].end)
            parts = parts[:-2] if tag else parts[:-1]  # 我住在北京，对吧？ asks about what stands before
        found = self.clauses(parts)
        if any(f.hearsay for f in found) and self.search("rebuttal", start, end):
            # Bob says I live in Paris, but I don't: what the user denies is not learnt from another.
            found = [f for f in found if not f.hearsay]
        found = self._still_meant(found, end)
        return [] if found and self.search("sentence", start, end) else found

    def _still_meant(self, found: list[Found], end: int) -> list[Found]:
        """Without plans that the rest of the sentence gives up: I was thinking of getting a dog but changed my mind."""
        plans = self.fitter.constructions.plans
        return [
            f
            for f in found
            if f.relation is None or f.relation.name not in plans or not self.search("abandoned", f.object_start, end)
        ]

    def _asked_to_keep(self, parts: list[Clause], end: int) -> list[Found] | None:
        """请记住… / …，记一下: what stands after or before the request; None when nothing is asked."""
        if not (self.may("kept") or self.may("kept_weak") or self.may("kept_after")):
            return None
        for i, clause in enumerate(parts):
            begin = self.lead(clause)
            for strength in ("kept", "kept_weak"):
                ahead = self.match(strength, begin.start, begin.end)
                if ahead is None:
                    continue
                rest = trimmed(self.view.shadow, ahead.end(), end)
                if not self._says_nothing(rest) and (strength == "kept" or self._personal(rest)):
                    return self.keep(rest.start, rest.end, asked=True)
            behind = self.match("kept_after", begin.start, begin.end)
            if behind is not None and i and behind.end() == begin.end:
                return self.keep(parts[0].start, parts[i - 1].end, asked=True)
        return None

    def _personal(self, rest: Clause) -> bool:
        """记得多喝水 is advice to somebody; what the user wants kept is about the user."""
        start, end = rest.start, rest.end
        return self.match("personal", start, end) is not None and not self.search("addressed", start, end)

    def keep(self, start: int, end: int, *, asked: bool = False) -> list[Found]:
        """What a stretch states, and all of its words when the rules leave a clause unexplained."""
        whole = trimmed(self.view.shadow, start, end)
        if self.search("refused", start, end) or (asked and self._says_nothing(whole)):
            return []
        parts = clauses(self.view.shadow, start, end, self.grammar)
        explained: list[Clause] = []
        found = [replace(f, kept=True) for f in self.clauses(parts, explained)]
        if not found or len(explained) < len(parts):
            found.append(self.free(whole))
        return found

    def free(self, span: Clause) -> Found:
        """A stretch of text kept as it stands."""
        words = self.view.text[span.start : span.end].strip() or self.view.text
        begin = self.lead(span)
        category = Category.GENERAL
        if self.match("instruction", begin.start, begin.end) or self._full("instruction_alone", begin):
            category = Category.RULE
        elif self.search("todo", span.start, span.end):
            category = Category.TASK
        value = self.fold(words).strip()
        return Found(words, value, span.start, span.end, self.language, kept=True, category=category)

    def plain(self, sentence: Sentence) -> Plain | None:
        """The sentence, if it plainly states something."""
        span = trimmed(self.view.shadow, sentence.start, sentence.end)
        parts = clauses(self.view.shadow, span.start, span.end, self.grammar)
        if not parts or self._says_nothing(span) or self.search("sentence", span.start, span.end):
            return None
        begins = [self.lead(clause) for clause in parts]
        if any(self.match(name, c.start, c.end) for c in begins for name in ("request", "hearsay")):
            return None
        if self.search("refused", span.start, span.end) or any(map(self._taken_back, parts)):
            return None
        openings = self.fitter.openings(self.view, begins[0], self.talk)
        own = any(who is not None and who.kind in ("user", "we") for _, who in openings)
        dated = any(span.start <= at < span.end for at in self.view.times)
        said, words = (text[span.start : span.end] for text in (self.view.text, self.view.lower))
        return Plain(span.start, span.end, said, words, self.language, own, dated)

    def _says_nothing(self, span: Clause) -> bool:
        """记住了 · remember me: no content to keep."""
        words = self.view.shadow[span.start : span.end]
        return len(words) < SHORTEST_KEPT[self.language] or not _LETTER.search(words)

    def _instruction(self, parts: list[Clause], start: int, end: int) -> list[Found] | None:
        """以后都用中文回答我: a standing rule; None when the sentence is not one."""
        if not (self.may("instruction") or self.may("instruction_alone")):
            return None
        for clause in parts[:2]:
            begin = self.lead(clause)
            if self.match("instruction", begin.start, end) is None and not self._ordered_alone(begin.start, end):
                continue
            if self.search("refused", start, end) or self.search("sentence", start, end):
                return []
            if clause is not parts[-1] and self._full("not_meant", parts[-1]):
                return []  # …, my boss says. …，我还没想好
            by_order = self.fitter.constructions.told_by_order
            if named := [f for f in self.clauses([clause]) if f.relation and f.relation.name in by_order]:
                return named  # 以后叫我小林
            free = self.free(trimmed(self.view.shadow, begin.start, end))
            return [replace(free, kept=False, category=Category.RULE)]
        return None

    def _ordered_alone(self, start: int, end: int) -> bool:
        """请用中文回答我 is a rule by itself; after a question it may be about that one answer."""
        return self.talk.alone and self._full("instruction_alone", trimmed(self.view.shadow, start, end))

    def _full(self, name: str, span: Clause) -> bool:
        """Whether the pattern of a name fits the whole of a stretch."""
        return self.may(name) and self.fitter.says(self.view, name, span)

    def presupposed(self, sentence: Sentence, read: Sequence[Found]) -> list[Found]:
        """Whom a sentence takes for granted: my son started school. Nothing where it states more of the same one."""
        start, end = sentence.start, sentence.end
        if not self.may("presupposed"):
            return []
        pattern = compiled(self.grammar.patterns["presupposed"])
        said = [
            m for m in pattern.finditer(self.view.shadow, start, end) if self.view.shadow[m.end() : m.end() + 1] != "-"
        ]
        if not said or self.search("absent", start, end) or self.search("sentence", start, end):
            return []
        known = {f.subject for f in read} | {f.relation.name for f in read if f.relation is not None}
        return [f for match in said for f in self.fitter.taken_for_granted(self.view, match, known)]

    # ------------------------------------------------------------------ clauses

    def clauses(self, parts: Sequence[Clause], explained: list[Clause] | None = None) -> list[Found]:
        """The statements of a run of clauses. `explained` receives the clauses that gave or changed something."""
        talk = self.talk
        talk.subject = talk.speaker = talk.apposed = None
        talk.hearsay = False
        talk.stated.clear()
        if not parts:
            return []
        talk.first = talk.first and len(parts) == 1
        talk.occurrences = self.fitter.triggers.find(self.view.lower, parts[0].start, parts[-1].end)
        talk.forms = self.fitter.candidates(self.view, talk)
        talk.across = [form for form in talk.forms if form.across]
        talk.within = [form for form in talk.forms if not form.across]
        talk.span, talk.start = (talk.span[0], parts[-1].end), parts[0].start
        found: list[Found] = []
        skip = 0
        for i, clause in enumerate(parts):
            if skip:
                skip -= 1
                continue
            begin = self.lead(clause)
            if self.match("request", begin.start, begin.end):
                break
            beside = apposition(self.fitter, self.view, talk, parts, i)
            following = parts[i + 1] if i + 1 < len(parts) and beside is None else None
            read, skip = self._read(self._hearsay(begin), following)
            if read and (
                self._taken_back(clause, read)
                or self._on_a_journey(read, clause)
                or self._for_now(read, clause, parts[-1].end)
            ):
                read, skip = [], 0
            read = [self._meant(f, parts) for f in read]
            if explained is not None and (read or self._is_marker(clause)):
                explained += parts[i : i + 1 + skip]
            if beside is not None:
                read, skip = [*read, beside.named], 1
            found += read
            self._carry(begin, read)
            if beside is not None and i + 2 < len(parts):
                talk.apposed = self._goes_on(parts[i + 2], beside.who)
        if found:  # else 我记错了。… still corrects what the next sentence says
            talk.span = (parts[-1].end, parts[-1].end)
        return found

    def _goes_on(self, clause: Clause, who: Who) -> tuple[int, tuple[int, Who]]:
        """Where a clause about somebody begins who is no part of it, and where its subject would end."""
        start = self.lead(clause).start
        return start, (start - (self.language is Language.EN), who)

    def _taken_back(self, clause: Clause, read: Sequence[Found] = ()) -> bool:
        """Whether the clause only asks, guesses or remembers what it seems to state; who says what was and what is instead
        remembers nothing but the old."""
        where = clause.start, clause.end
        if self.search("question", *where) or self.search("clause", *where):
            return True
        return not any(f.replaces for f in read) and self.search("formerly", *where)

    def _on_a_journey(self, read: Sequence[Found], clause: Clause) -> bool:
        """住在国贸附近, said of a hotel, is no residence."""
        if not any(f.relation and f.relation.name in self.fitter.constructions.at_home for f in read):
            return False
        return self.search("visiting", max(0, clause.start - NEAR), clause.end)

    def _for_now(self, read: Sequence[Found], clause: Clause, end: int) -> bool:
        """烟我暂时不抽了: what is put down for the moment is not given up. `end`: of the sentence (SPEC B3)."""
        known = self.fitter.constructions
        if not any(f.relation and f.relation.name in (known.puts_down if f.negated else known.gives_up) for f in read):
            return False
        return self.search("for_now", clause.start, clause.end) or self.search("resumed", clause.start, end)

    def _is_marker(self, clause: Clause) -> bool:
        return any(self._has(m.pattern, clause) for m in self.grammar.markers)

    def _has(self, pattern: str, clause: Clause) -> bool:
        return compiled(pattern).search(self.view.shadow, clause.start, clause.end) is not None

    def _meant(self, found: Found, parts: Sequence[Clause]) -> Found:
        """A statement next to 记错了 is a correction, next to 换工作了 a change."""
        if found.mode is not Mode.STATEMENT or found.relation is None or found.hearsay:
            return found
        if found.relation.single and self.fitter.correcting(self.view, self.talk):
            return replace(found, mode=Mode.CORRECTION)
        if found.relation.single and self._nowadays(found, parts):
            return replace(found, mode=Mode.CHANGE)
        if found.relation.passing:
            return replace(found, mode=Mode.CHANGE)
        for marker in self.grammar.markers:
            if found.relation.name in marker.only and any(self._has(marker.pattern, c) for c in parts):
                return replace(found, mode=marker.mode)
        return found

    def _nowadays(self, found: Found, parts: Sequence[Clause]) -> bool:
        """我现在住在苏州 says that it was otherwise before (SPEC B3)."""
        whole = next((c for c in parts if c.start <= found.start < c.end), None)  # with the 现在 that opens it
        return whole is not None and self.search("nowadays", whole.start, max(whole.end, found.end))

    def _hearsay(self, clause: Clause) -> Clause:
        """张三说他负责… → 他负责…, from here to the end of the sentence somebody else's word (SPEC C9)."""
        match = self.match("hearsay", clause.start, clause.end)
        if match is None:
            return clause
        written = next((v for k, v in match.groupdict().items() if k.startswith("subject") and v), "")
        who = self.fitter.who(written, self.talk) if written else None
        if who is not None and who.kind in ("user", "we"):
            return trimmed(self.view.shadow, match.end(), clause.end)  # 我说过…
        if written and who is None:
            return clause
        self.talk.hearsay, self.talk.speaker, self.talk.subject = True, who, None
        if who is not None and who.name:
            self.talk.parties.add(who.name)
        return trimmed(self.view.shadow, match.end(), clause.end)

    def _carry(self, clause: Clause, read: Sequence[Found]) -> None:
        """Whom the next clause speaks of when it does not say: the subject of a clause that was understood."""
        talk = self.talk
        carried, talk.subject = talk.subject, None
        for f in read:
            assert f.relation is not None
            talk.last = (f.relation, f.subject)
            talk.stated.add(f.relation.name)
            if f.relation.object_type in PARTIES and f.relation.subject == COMPANY:
                talk.parties.add(f.object)
            if f.subject not in (USER, COMPANY):
                talk.parties.add(f.subject)
            elif f.relation.name in self.introduces and (who := self.fitter.brought_in(f)):
                talk.parties.add(who)
        if read and not any(f.relation and f.relation.name in self.introduces for f in read):
            openings = self.fitter.openings(self.view, clause, talk)
            talk.subject = next((who for _, who in openings if who is not None), carried)
        elif not read:
            talk.subject = self._of_the_user(clause) if talk.forms else None
            for o in talk.occurrences:
                relation = o.trigger.relations[0]
                if o.start >= clause.start and o.end <= clause.end and o.trigger.kind == "name" and relation.single:
                    talk.last = (relation, relation.subject)

    def _of_the_user(self, clause: Clause) -> Who | None:
        """The user, when a clause that states nothing to keep is still plainly about the user alone."""
        for end, who in self.fitter.openings(self.view, clause, self.talk)[:1]:
            if who is not None and who.kind == "user" and self.match("stative", end, clause.end):
                return None if self.search("others", end, clause.end) else who
        return None

    def _read(self, clause: Clause, following: Clause | None) -> tuple[list[Found], int]:
        """The statements of a clause, and how many of the next clauses it used up."""
        if not self.talk.forms:
            return [], 0
        # 我姐在深圳上班呢 ends at 上班; a question would have kept its 吗.
        pattern = compiled(self.grammar.patterns["particle"])
        if self.may("particle") and (particle := pattern.search(self.view.shadow, clause.start, clause.end)):
            clause = Clause(clause.start, particle.start())
        if clause.start >= clause.end:
            return [], 0
        if following is not None:
            both = Clause(clause.start, following.end)
            across = not self._is_time(clause)  # Last week, we went to …
            if read := self.fitter.fit(self.view, both, self.talk, across=across):
                return read, 1
        read = self.fitter.fit(self.view, clause, self.talk)
        if len(read) == 1 and following is not None and self._continues(read[0], following):
            relation, start = read[0].relation, read[0].object_start
            assert relation is not None
            said = self.view.text[start : following.end]
            value = self.fitter.objects.value(said, relation)
            return [replace(read[0], object=said, value=value, end=following.end)], 1
        return read, 0

    def _is_time(self, clause: Clause) -> bool:
        """Whether a clause is a date and nothing else."""
        dated = self.view.times.get(clause.start) or self.view.behind.get(clause.start)
        return dated is not None and dated.end == clause.end

    def _continues(self, found: Found, following: Clause) -> bool:
        """在 .env 里，KEY 是 DB_URL tells one place in two clauses."""
        if found.relation is None or found.relation.object_type != "whereabouts":
            return False
        pattern = compiled(self.grammar.patterns["continuation"])
        return pattern.fullmatch(self.view.shadow, following.start, following.end) is not None

    # ------------------------------------------------------------------ patterns

    def lead(self, clause: Clause) -> Clause:
        """The clause without 其实, by the way, …"""
        match = self.match("lead", clause.start, clause.end)
        if match is None or match.end() >= clause.end:
            return clause
        return trimmed(self.view.shadow, match.end(), clause.end)

    def speaks(self, clause: Clause) -> bool:
        """Whether a clause begins with a word for whom it speaks of, and goes on."""
        start, stop = clause.start, clause.end
        for end, kind in self.fitter.opened(self.view, clause, self.talk.signs):
            # In English what is rewritten there is whose something is, I and we never are: my old house.
            own = self.grammar.rewrite if self.language is Language.EN and kind in ("user", "we", "pronoun") else ()
            whose = any(compiled(mine).match(self.view.shadow, start, stop) for mine, _ in own)
            theirs = self.view.lower[start:end].strip() in {instead for _, instead in own}
            known = kind in ("kin", "company", "user", "declared_user", "we", "pronoun")
            return known and end < stop and not whose and not theirs
        return False

    def may(self, name: str) -> bool:
        """Whether the pattern of a name may match in the sentence: cheap, and never False where it does."""
        return self.fitter.narrowing.may(name, self.talk.signs)

    def search(self, name: str, start: int, end: int) -> bool:
        if not self.may(name):
            return False
        return compiled(self.grammar.patterns[name]).search(self.view.shadow, start, end) is not None

    def match(self, name: str, start: int, end: int) -> re.Match[str] | None:
        return compiled(self.grammar.patterns[name]).match(self.view.shadow, start, end) if self.may(name) else None
