"""Hold clauses against the constructions: the reader behind the distiller (SPEC C3, C6, C8, C9).

It keeps, while it goes through one message, who was spoken of and what was meant: a subject carries over inside its
sentence, 他们 is the one other party that was named, 记错了 makes the sentence a correction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jiyi.domain.belief import Mode
from jiyi.domain.language import language_of
from jiyi.domain.memory import Category, Language
from jiyi.domain.relations import COMPANY, USER, Relation, Vocabulary
from jiyi.pipelines.clauses import MASK, Clause, Sentence, clauses, sentences, trimmed
from jiyi.pipelines.grammar import LAST, SUBJECT_CLASSES, Constructions, Form, Grammar, compiled
from jiyi.pipelines.triggers import Occurrence, Triggers

# Longer objects are not values but stories.
LONGEST = {Language.ZH: 60, Language.EN: 150}
# What is kept on request has at least this many characters, else there is nothing to keep (记住了).
SHORTEST_KEPT = 4

_IDENTIFIER = re.compile(r"\.?[a-z0-9_$~-]+(?:[._/\\:-]+[a-z0-9_$-]+)*")
_NAMELIKE = re.compile(r"^\.|[._/\\:]|\d")
_QUOTES = {"`": "`", '"': '"', "“": "”", "「": "」", "『": "』", "'": "'"}
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Found:
    """A statement in a text: `[start, end)` is what it rests on. Without a relation it is free text of `category`."""

    object: str
    value: str
    start: int
    end: int
    language: Language
    relation: Relation | None = None
    subject: str = ""
    mode: Mode = Mode.STATEMENT
    negated: bool = False
    replaces: str = ""
    replaces_text: str = ""
    implied: bool = False
    hearsay: bool = False
    kept: bool = False
    category: Category = Category.GENERAL


@dataclass(frozen=True, slots=True)
class _Who:
    """A subject: its class (see SUBJECT_CLASSES, or "implied") and, for other people, the name it is filed under."""

    kind: str
    name: str = ""


@dataclass(slots=True)
class _Talk:
    """What a message has established so far."""

    declared: bool = False
    subject: _Who | None = None  # carries over inside a sentence
    other: str = ""  # the last other party named
    parties: set[str] = field(default_factory=set)
    last: tuple[Relation, str] | None = None
    hearsay: bool = False
    speaker: _Who | None = None
    first: bool = True  # nothing but the beginning of the message lies before
    correcting: bool = False


@dataclass(frozen=True, slots=True)
class Reader:
    vocabulary: Vocabulary
    constructions: Constructions
    fold: Callable[[str], str]
    triggers: Mapping[Language, Triggers]

    def read(self, text: str, shadow: str) -> list[Found]:
        """Everything that a message of talk states."""
        talk, lower = _Talk(), _lower(shadow)
        found: list[Found] = []
        for sentence in sentences(shadow):
            language = language_of(shadow[sentence.start : sentence.end])
            grammar = self.constructions.grammars[language]
            if _search(grammar, "message", shadow, sentence.start, sentence.end):
                break
            scan = _Scan(self, text, shadow, lower, language, grammar, talk)
            found += scan.sentence(sentence)
            if _search(grammar, "rest", shadow, sentence.start, sentence.end):
                break  # what follows is text to work on, not talk
            talk.first = False
        return found

    def read_declared(self, text: str, shadow: str) -> list[Found]:
        """What a text states that is to be kept; the whole text as well, when the rules do not explain all of it."""
        talk, lower, explained = _Talk(declared=True), _lower(shadow), True
        found: list[Found] = []
        for sentence in sentences(shadow):
            language = language_of(shadow[sentence.start : sentence.end])
            scan = _Scan(self, text, shadow, lower, language, self.constructions.grammars[language], talk)
            read = scan.kept(sentence.start, sentence.end)
            found += [f for f in read if f.relation is not None]
            explained = explained and all(f.relation is not None for f in read)
            talk.first = False
        if found and explained:
            return found
        language = language_of(text)
        grammar = self.constructions.grammars[language]
        return [*found, self.free(text, trimmed(shadow, 0, len(shadow)), shadow, grammar, language)]

    def free(self, text: str, span: Clause, shadow: str, grammar: Grammar, language: Language) -> Found:
        """A stretch of text kept as it stands."""
        words = text[span.start : span.end].strip() or text
        category = Category.GENERAL
        if _search(grammar, "instruction", shadow, span.start, span.end):
            category = Category.RULE
        elif _search(grammar, "todo", shadow, span.start, span.end):
            category = Category.TASK
        return Found(
            words, self.fold(words).strip(), span.start, span.end, language, kept=True, category=category
        )  # fmt: skip


@dataclass(slots=True)
class _Scan:
    """One sentence under the eye of the reader."""

    reader: Reader
    text: str
    shadow: str
    lower: str
    language: Language
    grammar: Grammar
    talk: _Talk

    # ------------------------------------------------------------------ sentences

    def sentence(self, sentence: Sentence) -> list[Found]:
        self.talk.subject = self.talk.speaker = None
        self.talk.hearsay = False
        start, end = sentence.start, sentence.end
        parts = clauses(self.shadow, start, end, self.grammar)
        if not sentence.asked:
            kept = self._asked_to_keep(parts, end)
            if kept is not None:
                return kept
            if (rule := self._instruction(parts, start, end)) is not None:
                return rule
        if self.search("sentence", start, end):
            return []
        if sentence.asked:
            if parts and self.match("asks", self.lead(parts[0]).start, end):
                return []
            parts = self._before_the_question(parts)
        return self.clauses(parts)

    def _before_the_question(self, parts: list[Clause]) -> list[Clause]:
        parts, last = parts[:-1], parts[-1:]
        if last and parts and self.match("tag", last[0].start, last[0].end):
            return parts[:-1]  # 我住在北京，对吧？ asks about what stands before
        return parts

    def _asked_to_keep(self, parts: list[Clause], end: int) -> list[Found] | None:
        """请记住… / …，记一下: what stands after or before the request; None when nothing is asked."""
        for i, clause in enumerate(parts):
            begin = self.lead(clause)
            ahead = self.match("kept", begin.start, begin.end)
            if ahead is not None and (rest := trimmed(self.shadow, ahead.end(), end)).start < rest.end:
                return self.kept(rest.start, rest.end, asked=True)
            behind = self.match("kept_after", begin.start, begin.end)
            if behind is not None and i and behind.end() == begin.end:
                return self.kept(parts[0].start, parts[i - 1].end, asked=True)
        return None

    def kept(self, start: int, end: int, *, asked: bool = False) -> list[Found]:
        """What a stretch states, and all of its words when the rules leave a clause unexplained."""
        if self.search("refused", start, end):
            return []
        whole = trimmed(self.shadow, start, end)
        if asked and self._says_nothing(whole):
            return []
        if (rule := self.match("instruction", *_span(self.lead(whole)))) is not None and rule:
            free = self.reader.free(self.text, whole, self.shadow, self.grammar, self.language)
            named = self.clauses(clauses(self.shadow, start, end, self.grammar))
            return [replace(f, kept=True) for f in named] or [free]
        explained: list[Clause] = []
        parts = clauses(self.shadow, start, end, self.grammar)
        found = [replace(f, kept=True) for f in self.clauses(parts, explained)]
        if not found or len(explained) < len(parts):
            found.append(self.reader.free(self.text, whole, self.shadow, self.grammar, self.language))
        return found

    def _says_nothing(self, span: Clause) -> bool:
        """记住了 · remember me: no content to keep."""
        words = self.shadow[span.start : span.end]
        least = SHORTEST_KEPT if self.language is Language.ZH else 3 * SHORTEST_KEPT
        if len(words) < least or not _LETTER.search(words):
            return True
        return self.search("question", span.start, span.end) and self.language is Language.ZH

    def _instruction(self, parts: list[Clause], start: int, end: int) -> list[Found] | None:
        """以后都用中文回答我: a standing rule; None when the sentence is not one."""
        for clause in parts[:2]:
            begin = self.lead(clause)
            if self.match("instruction", begin.start, end) is None:
                continue
            if self.search("refused", start, end) or self.search("sentence", start, end):
                return []
            if named := self.clauses([clause]):
                return named  # 以后叫我小林
            span = trimmed(self.shadow, begin.start, end)
            free = self.reader.free(self.text, span, self.shadow, self.grammar, self.language)
            return [replace(free, kept=False, category=Category.RULE)]
        return None

    # ------------------------------------------------------------------ clauses

    def clauses(self, parts: Sequence[Clause], explained: list[Clause] | None = None) -> list[Found]:
        """The statements of a run of clauses. `explained` receives the clauses that gave or changed something."""
        modes = self._markers(parts)
        found: list[Found] = []
        skip = 0
        for i, clause in enumerate(parts):
            if skip:
                skip -= 1
                continue
            begin = self.lead(clause)
            if begin.start >= begin.end:
                continue
            if self._is_request(begin):
                break
            if self._is_no_statement(clause):
                self.talk.subject = None
                continue
            begin = self._hearsay(begin)
            following = parts[i + 1] if i + 1 < len(parts) else None
            read, skip = self._read(begin, following)
            read = [self._meant(f, modes) for f in read]
            if explained is not None and (read or self._is_marker(clause)):
                explained += parts[i : i + 1 + skip]
            found += read
            self._carry(begin, read)
        self.talk.correcting = bool(modes) and not found
        return found

    def _markers(self, parts: Sequence[Clause]) -> list[tuple[Mode, frozenset[str]]]:
        """How this sentence means what it says: as a change or a correction (记错了, 换工作了)."""
        modes = [
            (marker.mode, marker.only)
            for marker in self.grammar.markers
            for clause in parts
            if compiled(marker.pattern).fullmatch(self.shadow, self.lead(clause).start, clause.end)
        ]
        if self.talk.correcting:
            modes.append((Mode.CORRECTION, frozenset()))
        return modes

    def _is_marker(self, clause: Clause) -> bool:
        return bool(self._markers([clause]))

    def _meant(self, found: Found, modes: Sequence[tuple[Mode, frozenset[str]]]) -> Found:
        if found.mode is not Mode.STATEMENT or found.relation is None or found.hearsay:
            return found
        for mode, only in modes:
            if found.relation.name in only or (not only and found.relation.single):
                return replace(found, mode=mode)
        return found

    def _is_request(self, clause: Clause) -> bool:
        return self.match("request", clause.start, clause.end) is not None

    def _is_no_statement(self, clause: Clause) -> bool:
        start, end = clause.start, clause.end
        return self.search("question", start, end) or self.search("clause", start, end)

    def _hearsay(self, clause: Clause) -> Clause:
        """张三说他负责… → 他负责…, from here to the end of the sentence somebody else's word (SPEC C9)."""
        match = self.match("hearsay", clause.start, clause.end)
        if match is None:
            return clause
        written = _group(match, "subject")
        who = self._who(written) if written else None
        if who is not None and who.kind in ("user", "we"):
            return Clause(match.end(), clause.end)  # 我说过…
        if written and who is None:
            return clause
        self.talk.hearsay = True
        self.talk.speaker = who
        self.talk.subject = None
        if who is not None and who.name:
            self.talk.other = who.name
            self.talk.parties.add(who.name)
        return trimmed(self.shadow, match.end(), clause.end)

    def _carry(self, clause: Clause, read: Sequence[Found]) -> None:
        """Who the next clause speaks of when it does not say."""
        for kind in SUBJECT_CLASSES:
            if match := compiled(self.grammar.subjects[kind]).match(self.shadow, clause.start, clause.end):
                self.talk.subject = self._who(match.group())
                break
        for f in read:
            if f.relation is not None:
                self.talk.last = (f.relation, f.subject)
                if f.relation.object_type in ("organisation", "name", "short") and f.relation.subject == COMPANY:
                    self.talk.other = f.object
                    self.talk.parties.add(f.object)
                if f.subject not in (USER, COMPANY):
                    self.talk.other = f.subject
                    self.talk.parties.add(f.subject)
        if not read:
            occurrences = self.reader.triggers[self.language].find(self.lower, clause.start, clause.end)
            for o in occurrences:
                relation = o.trigger.relations[0]
                if o.trigger.kind == "name" and relation.single:
                    self.talk.last = (relation, relation.subject)

    # ------------------------------------------------------------------ one clause against the forms

    def _read(self, clause: Clause, following: Clause | None) -> tuple[list[Found], int]:
        """The statements of a clause, and how many of the next clauses it used up."""
        if following is not None:
            both = Clause(clause.start, following.end)
            if read := self._fit(both, across=True):
                return read, 1
        read = self._fit(clause, across=False)
        if read and following is not None and self._continues(read[0], following):
            wide = replace_object(self, read[0], following)
            if wide is not None:
                return [wide, *read[1:]], 1
        return read, 0

    def _fit(self, clause: Clause, *, across: bool) -> list[Found]:
        occurrences = self.reader.triggers[self.language].find(self.lower, clause.start, clause.end)
        for form in self.grammar.forms:
            if form.across and not across or across and not form.across:
                continue
            if not form.trigger:
                match = compiled(form.before).fullmatch(self.shadow, clause.start, clause.end)
                if match and (read := self._build(form, clause, None, [match])):
                    return read
                continue
            for occurrence in occurrences:
                if occurrence.trigger.kind != form.trigger:
                    continue
                before = compiled(form.before).fullmatch(self.shadow, clause.start, occurrence.start)
                if before is None:
                    continue
                after = compiled(form.after).fullmatch(self.shadow, occurrence.end, clause.end)
                if after and (read := self._build(form, clause, occurrence, [before, after])):
                    return read
        return []

    def _build(
        self, form: Form, clause: Clause, occurrence: Occurrence | None, matches: list[re.Match[str]]
    ) -> list[Found]:
        """The statements of a form that fits, or nothing when its subject or its object will not do."""
        slots = _slots(matches)
        who = self._subject(form, occurrence, slots)
        if who is None:
            return []
        for relation, implied_by_form in self._relations(form, occurrence, who):
            subject = self._filed(relation, who, implied_by_form)
            if subject is None or (form.typed and relation.object_type not in self.reader.constructions.types):
                continue
            found = self._statements(form, clause, relation, who, subject, slots)
            if found:
                return found
        return []

    def _relations(self, form: Form, occurrence: Occurrence | None, who: _Who) -> Iterator[tuple[Relation, str]]:
        """The relations that the form may state, those that suit the subject first."""
        if form.relation == LAST:
            if self.talk.last is not None:
                yield self.talk.last
            return
        if form.relation:
            relations: Sequence[Relation] = [r for r in [self.reader.vocabulary.get(form.relation)] if r]
        else:
            assert occurrence is not None
            relations = occurrence.trigger.relations
        side = COMPANY if who.kind in ("company", "we", "implied") else USER
        for relation in sorted(relations, key=lambda r: r.subject != side):
            if not form.only or relation.name in form.only:
                yield relation, ""

    def _subject(self, form: Form, occurrence: Occurrence | None, slots: Mapping[str, tuple[int, int]]) -> _Who | None:
        """Who the clause speaks of: written, carried over, or implied; None when that is not clear."""
        if form.relation == LAST:
            return _Who("implied")
        if "topic" in slots:
            return _Who("topic", self.text[slice(*slots["topic"])])
        for slot in ("subject", "owner"):
            if slot in slots:
                written = self.shadow[slice(*slots[slot])]
                if written.lower() == "the":
                    break
                return self._who(written)
        if self.talk.subject is not None:
            return self.talk.subject
        if form.implied:
            return _Who("implied")
        if form.trigger != "name":
            return None
        return _Who("implied")

    def _who(self, written: str) -> _Who | None:
        written = written.strip()
        for kind in SUBJECT_CLASSES:
            if compiled(self.grammar.subjects[kind]).fullmatch(written):
                return self._identified(kind, written)
        return None

    def _identified(self, kind: str, written: str) -> _Who | None:
        if kind == "declared_user":
            return _Who("user") if self.talk.declared else None
        if kind == "pronoun":
            if self.talk.speaker is not None and self.talk.speaker.name:
                return _Who("name", self.talk.speaker.name)
            return _Who("pronoun", self.talk.other) if len(self.talk.parties) == 1 else None
        if kind == "kin":
            relative = re.search(self.grammar.kin, written, re.I)
            return _Who("kin", self.grammar.kin_says.format(kin=relative.group())) if relative else None
        if kind == "name":
            bare = re.sub(rf"^.*?{self.grammar.kin}[\s,]*(?=\S)", "", written, count=1, flags=re.I)
            return _Who("name", bare or written)
        return _Who(kind)

    def _filed(self, relation: Relation, who: _Who, given: str) -> str | None:
        """The subject that the fact is filed under; None when that subject cannot have this relation."""
        allowed = self.reader.constructions.who.get(relation.name)
        if allowed is not None and who.kind not in allowed:
            return None
        if given:
            return given
        if who.kind == "implied":
            # A bare 名字是… may be anybody's name, a bare 预算是… is the user's side's.
            return relation.subject if relation.subject == COMPANY or self.talk.first else None
        if who.kind == "company":
            personal = relation.subject == USER and relation.category in (Category.PROFILE, Category.RELATIONSHIP)
            return None if personal else COMPANY
        if who.kind in ("user", "we"):
            return relation.subject
        return who.name or None

    def _statements(
        self, form: Form, clause: Clause, relation: Relation, who: _Who, subject: str, slots: Mapping[str, tuple[int, int]]
    ) -> list[Found]:
        relation, spans = self._objects(form, relation, *slots["object"])
        if not spans:
            return []
        old = self._old(form, relation, slots)
        if old is None:
            return []
        implied = who.kind in ("implied", "we", "pronoun") and subject != who.name or who.kind == "pronoun"
        implied = implied or (who.kind == "user" and subject == COMPANY)
        base = Found(
            "", "", clause.start, clause.end, self.language, relation=relation, subject=subject,
            mode=Mode.STATEMENT if self.talk.hearsay else form.mode, negated=form.mode is Mode.DENIAL,
            implied=implied and not (who.kind == "we" and subject == USER), hearsay=self.talk.hearsay,
        )  # fmt: skip
        found = []
        for span in spans:
            said = self._said(span)
            found.append(replace(base, object=said, value=self.value(said, relation)))
        if old:
            found[0] = replace(found[0], replaces=self.value(old, relation), replaces_text=old)
        for name in form.also:
            also = self.reader.vocabulary.get(name)
            assert also is not None
            if filed := self._filed(also, who, ""):
                found.append(replace(found[0], relation=also, subject=filed, replaces="", replaces_text=""))
        return found

    def _old(self, form: Form, relation: Relation, slots: Mapping[str, tuple[int, int]]) -> str | None:
        """The value that is left behind as written, "" when none is named, None when it will not do."""
        if "old" not in slots:
            return ""
        span = self.trim(*slots["old"])
        kind = form.types.get("old")
        if span.start >= span.end or (kind and not self._is(kind, span)):
            return None
        return self._said(span)

    # ------------------------------------------------------------------ objects

    def _objects(self, form: Form, relation: Relation, start: int, end: int) -> tuple[Relation, list[Clause]]:
        """The objects that a stretch names; none when one of them will not do."""
        whole = self.trim(start, end)
        spans = [whole] if relation.single else [self.trim(s.start, s.end) for s in self._listed(whole)]
        for span in spans:
            if not self._will_do(form, relation, span):
                return relation, []
        if form.route:
            for member, name in self.reader.constructions.routes.items():
                routed = self.reader.vocabulary.get(name)
                if routed is not None and all(self._is(member, s) for s in spans) and relation.category != routed.name:
                    if member == "gazetteer" and relation.name != "WORKS_AT":
                        continue
                    if member != "gazetteer" and relation.name != "USES_TOOL":
                        continue
                    return routed, spans
        return relation, spans

    def _will_do(self, form: Form, relation: Relation, span: Clause) -> bool:
        start, end = span.start, span.end
        if start >= end or end - start > LONGEST[self.language]:
            return False
        if self.search("never", start, end) or self.match("reject", start, end):
            return False
        types = self.reader.constructions.types
        kind = form.types.get("object", "")
        for name in (kind, relation.object_type if not kind or relation.object_type != "text" else ""):
            if name in types and not self._is(name, span):
                return False
        has_type = kind in types or relation.object_type in types
        # A number without its unit says nothing; where a type asks for a number, the type has checked it.
        return has_type or bool(_LETTER.search(self.text, start, end))

    def _is(self, kind: str, span: Clause) -> bool:
        """Whether a span is of a type. Quoted values are looked at without their quotes."""
        words = self.shadow[span.start : span.end]
        if MASK in words:
            words = self.text[span.start : span.end].strip("`\"“”「」『』 ")
        constructions = self.reader.constructions
        vague = constructions.vague.get(kind)
        if vague and compiled(vague).fullmatch(words):
            return False
        return compiled(constructions.types[kind]).fullmatch(words) is not None

    def trim(self, start: int, end: int) -> Clause:
        """An object without what hangs on it: 因为…, particles, quotes."""
        if cut := compiled(self.grammar.patterns["cut"]).search(self.shadow, start + 1, end):
            end = cut.start()
        span = trimmed(self.shadow, start, end)
        if glue := compiled(self.grammar.patterns["glue"]).match(self.shadow, span.start, span.end):
            span = trimmed(self.shadow, glue.end(), span.end)
        if tail := compiled(self.grammar.patterns["tail"]).search(self.shadow, span.start, span.end):
            span = trimmed(self.shadow, span.start, tail.start())
        start, end = span.start, span.end
        if end - start > 2 and _QUOTES.get(self.text[start]) == self.text[end - 1]:
            return Clause(start + 1, end - 1)
        return span

    def _listed(self, span: Clause) -> list[Clause]:
        """The items of a list, or the span itself."""
        words = self.shadow[span.start : span.end]
        sign = "、" if "、" in words else "," if "," in words else ""
        if not sign:
            return [span]
        pattern = re.compile(r"、|(?<=[^、])(?:以及|还有|和|与)(?=[^、]+$)" if sign == "、" else r",\s*(?:and\s+|or\s+)?|\s+and\s+")
        items, at = [], span.start
        for match in pattern.finditer(self.shadow, span.start, span.end):
            items.append(Clause(at, match.start()))
            at = match.end()
        items.append(Clause(at, span.end))
        return [i for i in items if i.end > i.start]

    def _said(self, span: Clause) -> str:
        """The object in the user's words, told from outside: 我的 → 自己的."""
        said = self.text[span.start : span.end]
        for source, instead in self.grammar.rewrite:
            said = compiled(source).sub(instead, said)
        return said

    def value(self, said: str, relation: Relation) -> str:
        """The object for comparing."""
        folded = self.reader.fold(said).strip()
        if relation.object_type == "whereabouts":
            names = {m for m in _IDENTIFIER.findall(folded) if _NAMELIKE.search(m)}
            if names:
                # SPEC C10: where something is, however it is worded, is the set of things that name the place.
                return " ".join(sorted(names))
        if head := compiled(self.grammar.patterns["head"]).match(folded):
            folded = folded[head.end() :]
        if tail := compiled(self.grammar.patterns["tail"]).search(folded):
            folded = folded[: tail.start()]
        return folded.strip(" .,。，!！") or self.reader.fold(said).strip()

    def _continues(self, found: Found, following: Clause) -> bool:
        if found.relation is None or found.relation.object_type != "whereabouts":
            return False
        return self.match("continuation", following.start, following.end, whole=True) is not None

    # ------------------------------------------------------------------ patterns

    def lead(self, clause: Clause) -> Clause:
        """The clause without 其实, by the way, …"""
        if match := compiled(self.grammar.patterns["lead"]).match(self.shadow, clause.start, clause.end):
            if match.end() < clause.end:
                return trimmed(self.shadow, match.end(), clause.end)
        return clause

    def search(self, name: str, start: int, end: int) -> bool:
        return compiled(self.grammar.patterns[name]).search(self.shadow, start, end) is not None

    def match(self, name: str, start: int, end: int, *, whole: bool = False) -> re.Match[str] | None:
        pattern = compiled(self.grammar.patterns[name])
        return pattern.fullmatch(self.shadow, start, end) if whole else pattern.match(self.shadow, start, end)


def replace_object(scan: _Scan, found: Found, following: Clause) -> Found | None:
    """A place told in two clauses: 在 .env 里，KEY 是 DB_URL."""
    assert found.relation is not None
    at = scan.text.find(found.object, found.start, found.end)
    if at < 0:
        return None
    said = scan.text[at : following.end]
    return replace(found, object=said, value=scan.value(said, found.relation), end=following.end)


def _search(grammar: Grammar, name: str, shadow: str, start: int, end: int) -> bool:
    return compiled(grammar.patterns[name]).search(shadow, start, end) is not None


def _span(clause: Clause) -> tuple[int, int]:
    return clause.start, clause.end


def _group(match: re.Match[str], name: str) -> str:
    return next((v for k, v in match.groupdict().items() if k.startswith(name) and v), "")


def _slots(matches: Sequence[re.Match[str]]) -> dict[str, tuple[int, int]]:
    """Slot → span; subject1, subject2 … are one slot, the first that was filled."""
    slots: dict[str, tuple[int, int]] = {}
    for match in matches:
        for name in match.re.groupindex:
            if match.start(name) >= 0 and match.end(name) > match.start(name):
                slots.setdefault(name.rstrip("0123456789"), match.span(name))
    return slots


def _lower(shadow: str) -> str:
    lower = shadow.lower()
    return lower if len(lower) == len(shadow) else "".join(c if len(c.lower()) != 1 else c.lower() for c in shadow)
