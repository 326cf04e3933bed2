"""Hold one clause against the constructions of its language (SPEC C6)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from jiyi.domain.memory import Category, Language, Mode
from jiyi.domain.relations import COMPANY, USER, WHOEVER, Relation, Vocabulary
from jiyi.pipelines.distilling.clauses import Clause, View, trimmed
from jiyi.pipelines.distilling.grammar import LAST, Constructions, Form, Grammar, compiled
from jiyi.pipelines.distilling.narrowing import Narrowing
from jiyi.pipelines.distilling.objects import Objects
from jiyi.pipelines.distilling.triggers import Occurrence, Triggers
from jiyi.text.times import TimeExpression

# The slots of the names of those who are taken for granted: my kids Nora and Emil.
NAMES = ("name_said", "name_too")
# Whoever is spoken of in so many characters before a clause without a subject may be its subject.
NEAR = 60


@dataclass(frozen=True, slots=True)
class Found:
    """A statement in a text: `[start, end)` is what it rests on. Without a relation it is free text of `category`.

    `time` is when it happened or will, where that is told beside the object; `expires`: it is over after that. `known`: it says
    something only where a fact of one of these relations names what it speaks of.
    """

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
    object_start: int = 0
    time: TimeExpression | None = None
    expires: bool = False
    known: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Who:
    """A subject: its class (see SUBJECT_CLASSES; "implied", "topic") and, for others, the name it is filed under.

    `kin` is what a named one is to the user, where that was said (我表弟李明). A `body` is the company or the team.
    """

    kind: str
    name: str = ""
    kin: str = ""
    body: bool = False


@dataclass(slots=True)
class Talk:
    """What the message has established so far.

    `subject` carries over inside a sentence, `parties` are the other people and companies named, `last` is what a
    correction without a name speaks of, `first` holds while the first clause stands alone, `alone` when the message is one
    sentence. `signs` are what shows in the sentence, `occurrences` those in it and `forms` those that may fit there: `across`
    over two clauses, `within` in one. `stated` are the relations that it has stated so far; `span` is the stretch in which
    记错了 makes it a correction, `start` where the sentence begins. `apposed`: where a clause goes on about somebody who was just
    named (Tom, my brother, is a pilot), and the subject that it has.
    """

    declared: bool = False
    subject: Who | None = None
    parties: set[str] = field(default_factory=set)
    last: tuple[Relation, str] | None = None
    hearsay: bool = False
    speaker: Who | None = None
    first: bool = True
    alone: bool = False
    signs: int = 0
    occurrences: Sequence[Occurrence] = ()
    forms: Sequence[Form] = ()
    across: Sequence[Form] = ()
    within: Sequence[Form] = ()
    stated: set[str] = field(default_factory=set)
    span: tuple[int, int] = (0, 0)
    start: int = 0
    apposed: tuple[int, _Candidate] | None = None


_Candidate = tuple[int, Who | None]


@dataclass(frozen=True, slots=True)
class Fitter:
    """The forms of one language, ready to be held against clauses."""

    language: Language
    grammar: Grammar
    constructions: Constructions
    vocabulary: Vocabulary
    triggers: Triggers
    objects: Objects
    narrowing: Narrowing

    @property
    def relatives(self) -> Collection[str]:
        """The subjects that stand for somebody by what they are to the user."""
        return self.grammar.kin_of.values()

    def candidates(self, view: View, talk: Talk) -> list[Form]:
        """The forms that may fit somewhere in a sentence, by what shows in it."""
        kinds = {o.trigger.kind for o in talk.occurrences}
        return self.narrowing.forms(talk.signs, kinds, timed=bool(view.times or view.ahead))

    def fit(self, view: View, clause: Clause, talk: Talk, *, across: bool = False) -> list[Found]:
        """The statements of the first form that explains the whole clause."""
        forms = talk.across if across else talk.within
        if not forms:
            return []
        occurrences: dict[str, list[Occurrence]] = {}
        for o in talk.occurrences:
            if o.start >= clause.start and o.end <= clause.end:
                occurrences.setdefault(o.trigger.kind, []).append(o)
        openings: list[_Candidate] | None = None
        for form in forms:
            if form.trigger and form.trigger not in occurrences:
                continue
            if form.relation == LAST and talk.last is None:
                continue
            if form.follows and not form.follows & talk.stated:
                continue
            if form.subject and openings is None:
                openings = self.openings(view, clause, talk)
            if form.subject == "must" and not openings:
                continue
            named = occurrences.get(form.trigger, ())
            for opening, occurrence, matches in self._matches(form, view, clause, named, openings or ()):
                if found := self._build(form, view, clause, talk, opening, occurrence, matches):
                    return found
        return []

    def openings(self, view: View, clause: Clause, talk: Talk) -> list[_Candidate]:
        """Where the subject that opens a clause may end, and who it is; longest first."""
        found = view.openings.get((clause.start, clause.end))
        if found is None:
            found = view.openings[clause.start, clause.end] = self.opened(view, clause, talk.signs)
        said = [(end, self._identified(kind, view.shadow[clause.start : end], talk)) for end, kind in found]
        return said if talk.apposed is None or talk.apposed[0] != clause.start else [*said, talk.apposed[1]]

    def opened(self, view: View, clause: Clause, signs: int) -> list[tuple[int, str]]:
        """Where the subject that opens a clause may end, and its class; longest first."""
        ends: dict[int, str] = {}
        for kind, source in self.grammar.subjects:
            if self.narrowing.may(source, signs):
                match = compiled(source).match(view.shadow, clause.start, clause.end)
                # 周五 and 周五下 are no names where a date is known: 周五下午开会, nor is 周六 in 我儿子周六….
                if match and match.end() not in ends and not (kind == "name" and view.in_date(*match.span())):
                    ends[match.end()] = kind
        return sorted(ends.items(), key=lambda item: -item[0])

    def correcting(self, view: View, talk: Talk) -> bool:
        """Whether the sentence, or an empty one before it, says that something was wrong."""
        return any(
            m.mode is Mode.CORRECTION and compiled(m.pattern).search(view.shadow, *talk.span)
            for m in self.grammar.markers
        )

    def who(self, written: str, talk: Talk) -> Who | None:
        """Who a piece of text names; None when that is not clear."""
        written = written.strip()
        for kind, source in self.grammar.subjects:
            if compiled(source).fullmatch(written):
                return self._identified(kind, written, talk)
        return None

    def taken_for_granted(self, view: View, match: re.Match[str], known: Collection[str]) -> list[Found]:
        """The relative or the pet of whom somebody speaks (my son Tom), by name where it is said; nothing when `known`.

        `known` are the subjects and the relations that the sentence states outright.
        """
        word = " ".join(match["kin_said"].lower().split())
        name, told = self.grammar.presupposed[word]
        kin = self.grammar.kin_of[word]
        naming, relation = self.vocabulary.get(self.constructions.naming), self.vocabulary.get(name)
        if name in known or relation is None or naming is None:
            return []
        tells = self._tells(kin, told) or name in self.constructions.told_by_name
        if kin in known and (naming.name not in known or tells):
            return []
        start, end = match.span()
        found = Found(told, told, start, match.end("kin_said"), self.language, relation=relation, subject=USER,
                      implied=True, object_start=match.start("kin_said"))  # fmt: skip
        found = replace(found, value=self.objects.value(told, relation))
        listed = view.lower.startswith(",", match.end("kin_said")) and view.lower.startswith(" and i", end)
        if listed or kin in known:
            return [found]  # my sister, Tom and I: no name of hers
        called = [Clause(*match.span(slot)) for slot in match.re.groupindex if slot in NAMES and match.group(slot)]
        if not called or not all(self.objects.is_a(view, span, "given_name") for span in called):
            return [found]
        names = [(span.start, view.text[span.start : span.end]) for span in called]
        named = [
            replace(found, relation=naming, subject=self.each_of(kin), object=said, value=self.objects.value(said, naming),
                    end=end, object_start=at)
            for at, said in names
        ]  # fmt: skip
        return named if self._tells(kin, told) else [found, *named]

    def _tells(self, kin: str, told: str) -> bool:
        """Whether a subject tells what it is by its own name: a cat does, a guinea pig is filed as a pet."""
        return any(word in told.lower() for word in kin.lower().split("/")[1:])

    def named(self, view: View, span: Clause, kin: str) -> bool:
        """Whether a stretch can be the name of somebody who is that to the user."""
        kind = "given_name"
        if self.language is Language.ZH:
            kind = "pet_names_zh" if kin in self.constructions.freely_named else "known_by_zh"
        words = view.shadow[span.start : span.end]
        if not words or view.in_date(span.start, span.end) or self._is_class("nobody", words):
            return False
        return self.objects.is_a(view, span, kind) and not self.says(view, "lead", span)

    def says(self, view: View, name: str, span: Clause) -> bool:
        """Whether a stretch is one of a list of wordings and nothing else."""
        pattern = compiled(self.grammar.patterns[name])
        return pattern.fullmatch(view.shadow, span.start, span.end) is not None

    # ------------------------------------------------------------------ matching

    def _matches(
        self, form: Form, view: View, clause: Clause, occurrences: Sequence[Occurrence], openings: Sequence[_Candidate]
    ) -> Iterator[tuple[_Candidate | None, Occurrence | None, list[re.Match[str]]]]:
        """Every way in which the clause can be read as this form. `occurrences` are those of its kind of trigger."""
        shadow = view.timed if form.timed else view.shadow
        starts: list[tuple[_Candidate | None, str, int]] = []
        if form.subject:
            starts += [(o, form.before, o[0]) for o in openings]
        if form.subject != "must":
            starts.append((None, form.bare, clause.start))
        for opening, source, start in starts:
            pattern = compiled(source)
            if not form.trigger:
                if match := pattern.fullmatch(shadow, start, clause.end):
                    yield opening, None, [match]
                continue
            for occurrence in occurrences:
                if occurrence.start < start:
                    continue
                ahead = pattern.fullmatch(shadow, start, occurrence.start)
                if ahead and (behind := compiled(form.after).fullmatch(shadow, occurrence.end, clause.end)):
                    yield opening, occurrence, [ahead, behind]

    def _build(
        self,
        form: Form,
        view: View,
        clause: Clause,
        talk: Talk,
        opening: _Candidate | None,
        occurrence: Occurrence | None,
        matches: Sequence[re.Match[str]],
    ) -> list[Found]:
        """The statements of a form that fits, or nothing when its subject or its object will not do."""
        if opening and opening[1] is None:
            return []
        slots = _slots(matches)
        who = opening[1] if opening else self._subject(form, occurrence, view, clause, talk, slots)
        if who is None or not self._agrees(who, occurrence, talk):
            return []
        # My husband Tom is one of mine, whatever he is called.
        kinds = {who.kind, "kin"} if who.kin else {who.kind}
        kinds |= {who.kin or who.name}
        if (form.who and not kinds & form.who) or not _in_tense(form, view, slots):
            return []
        written = bool(opening) or "subject" in slots or "owner" in slots
        for relation, given in self._relations(form, occurrence, who, view, talk):
            if not written and relation.name in self.constructions.written and not form.implied:
                continue
            subject = given or self.filed(relation, who, talk)
            if subject is None:
                continue
            if found := self._statements(form, view, clause, talk, relation, who, subject, slots):
                return found
        return []

    def _agrees(self, who: Who, occurrence: Occurrence | None, talk: Talk) -> bool:
        """Anna lives, I live: in English a bare `live` after a name is no verb of hers."""
        if self.language is not Language.EN or occurrence is None or occurrence.trigger.kind != "verb":
            return True
        if who.kind in ("user", "we"):
            return talk.declared or not occurrence.trigger.third
        return who.kind != "name" or occurrence.trigger.third

    def _relations(
        self, form: Form, occurrence: Occurrence | None, who: Who, view: View, talk: Talk
    ) -> Iterator[tuple[Relation, str]]:
        """The relations that the form may state, those that suit the subject first, with a subject where it is known."""
        if form.relation == LAST:
            if talk.last is not None and talk.last[0].single and self.correcting(view, talk):
                yield talk.last
            return
        if form.relation == WHOEVER:
            naming = self.vocabulary.get(self.constructions.naming)
            yield from [(naming, WHOEVER)] if naming is not None else []
            return
        if occurrence is None:
            relation = self.vocabulary.get(form.relation)
            relations: Sequence[Relation] = [relation] if relation is not None else []
        else:
            relations = occurrence.trigger.relations
        if form.only:
            relations = [r for r in relations if r.name in form.only]
        side = COMPANY if who.kind in ("company", "we", "implied") else USER
        for relation in sorted(relations, key=lambda r: r.subject != side) if len(relations) > 1 else relations:
            yield relation, ""

    # ------------------------------------------------------------------ subjects

    def _subject(
        self,
        form: Form,
        occurrence: Occurrence | None,
        view: View,
        clause: Clause,
        talk: Talk,
        slots: Mapping[str, tuple[int, int]],
    ) -> Who | None:
        """Who a clause speaks of that does not open with its subject: written elsewhere, carried over or implied."""
        if form.relation in (LAST, WHOEVER):
            return Who("implied")
        if "topic" in slots:
            span = Clause(*slots["topic"])
            if self._is_class("declared_user", view.shadow[span.start : span.end]):
                return None  # 用户的预算, of whomever
            known = "topic" not in form.types or self.objects.is_a(view, span, form.types["topic"])
            return (
                Who("topic", view.text[span.start : span.end])
                if known and self.objects.names(view, span, talk.signs)
                else None
            )
        for slot in ("subject", "owner"):
            if slot in slots:
                written = view.shadow[slice(*slots[slot])]
                if written.lower() != "the":
                    return self.who(written, talk)
        verb = form.trigger in ("verb", "be")
        if talk.subject is not None and (self.language is Language.ZH or _joined(view, clause) or not verb):
            return talk.subject
        if form.dropped and not self._of_others(view, clause, talk):
            return Who("user")
        if form.implied or form.trigger == "name":
            return Who("implied")
        return Who("user") if self._marked(form, occurrence, view, talk) else None

    def _is_class(self, wanted: str, written: str) -> bool:
        return any(kind == wanted and compiled(source).fullmatch(written) for kind, source in self.grammar.subjects)

    def _of_others(self, view: View, clause: Clause, talk: Talk) -> bool:
        """Whether a clause without a subject may be about somebody else: 他很忙，昨天去了… · the show, held yesterday."""
        before = trimmed(view.shadow, talk.start, clause.start)
        if self.language is Language.EN:
            lead = compiled(self.grammar.patterns["lead"])
            if before.start < before.end and lead.fullmatch(view.shadow, before.start, before.end) is None:
                return True
        elif openings := self.openings(view, before, talk):
            return any(who is None or who.kind not in ("user", "we") for _, who in openings)
        near = max(0, clause.start - NEAR)
        return compiled(self.grammar.patterns["third"]).search(view.shadow, near, clause.start) is not None

    def _marked(self, form: Form, occurrence: Occurrence | None, view: View, talk: Talk) -> bool:
        """换工作了，现在在美团上班: who says the first speaks of themselves in the second."""
        named = {form.relation, *(r.name for r in occurrence.trigger.relations)} if occurrence else {form.relation}
        return any(m.only & named and compiled(m.pattern).search(view.shadow, *talk.span) for m in self.grammar.markers)

    def _identified(self, kind: str, written: str, talk: Talk) -> Who | None:
        written = written.strip()
        if kind == "nobody":
            return None
        if kind == "declared_user":
            return Who("user") if talk.declared else None
        if kind == "pronoun":
            if talk.speaker is not None and talk.speaker.name:
                return Who("name", talk.speaker.name)
            if len(talk.parties) != 1:
                return None
            [party] = talk.parties
            return Who("kin" if party in self.relatives else "pronoun", party)
        kin = compiled(self.grammar.kin).search(written) if kind in ("kin", "name") else None
        if kind == "kin":
            return Who("kin", self.grammar.relative(kin.group())) if kin else None
        if kind == "name" and kin and kin.end() < len(written):
            name = written[kin.end() :].strip(" ,")
            if self._is_class("nobody", name) or compiled(self.grammar.kin).fullmatch(name):
                return None  # 我老公高中…, 我孩子班主任…
            # 我表弟李明 is filed under his name.
            return Who("name", name, self.grammar.relative(kin.group()))
        if kind == "name":
            return Who("name", written)
        body = kind == "we" and compiled(self.grammar.patterns["bodies"]).fullmatch(written) is not None
        return Who(kind, body=body)

    def filed(self, relation: Relation, who: Who, talk: Talk) -> str | None:
        """The subject that the fact is filed under; None when that subject cannot have this relation."""
        allowed = self.constructions.who.get(relation.name)
        if allowed is not None and who.kind not in allowed and who.name not in allowed:
            return None
        if who.kind == "implied":
            # A bare 名字是… may be anybody's name, a bare 预算是… is the user's side's.
            return relation.subject if relation.subject == COMPANY or talk.first else None
        if who.kind == "company" or who.body:
            # Where the company is moved to, nobody need live.
            home = relation.name in self.constructions.at_home
            if home or (relation.subject == USER and relation.category in (Category.PROFILE, Category.RELATIONSHIP)):
                return None
            return relation.subject if who.body else COMPANY
        if who.kind in ("user", "we"):
            return None if talk.hearsay and relation.name in self.constructions.judged else relation.subject
        return who.name or None

    # ------------------------------------------------------------------ statements

    def _statements(
        self,
        form: Form,
        view: View,
        clause: Clause,
        talk: Talk,
        relation: Relation,
        who: Who,
        subject: str,
        slots: Mapping[str, tuple[int, int]],
    ) -> list[Found]:
        spans = self.objects.find(view, *slots["object"], relation, form.types.get("object", ""), talk.signs)
        old = self._old(form, view, slots, talk.signs) if spans else None
        if old is None:
            return []
        if form.route and (routed := self._routed(view, spans, relation)) is not relation:
            relation, subject = routed, self.filed(routed, who, talk) or subject
        supplied = who.kind in ("implied", "pronoun") or (who.kind in ("user", "we") and subject == COMPANY)
        time = _time(form, view, slots)
        found = []
        for span in spans:
            said = self.objects.said(view, span)
            if form.dropped and span.start == clause.start and view.shadow[span.start : span.start + 2].istitle():
                said = said[0].lower() + said[1:]  # Went camping …
            found.append(Found(
                said, self.objects.value(said, relation), clause.start, clause.end, self.language, relation=relation,
                subject=subject, mode=Mode.STATEMENT if talk.hearsay else form.mode, negated=form.mode is Mode.DENIAL,
                implied=supplied, hearsay=talk.hearsay, object_start=span.start, time=time, expires=form.tense == "future",
                known=form.known,
            ))  # fmt: skip
        if old:
            found[0] = replace(found[0], replaces=self.objects.value(old, relation), replaces_text=old)
        second = self._second(form, view, found[0], who, talk, slots)
        if second is None:
            return []
        more = self._also(form, found[0], who, talk) + self._from_party(form, found[0], talk)
        return self._named(found[0], who) + found + second + more

    def _named(self, found: Found, who: Who) -> list[Found]:
        """我表弟李明住在杭州 tells the cousin's name as well, so that both lead to one entity."""
        naming = self.vocabulary.get(self.constructions.naming)
        if not who.kin or naming is None:
            return []
        value = self.objects.value(who.name, naming)
        return [replace(found, relation=naming, subject=who.kin, object=who.name, value=value, mode=Mode.STATEMENT,
                        negated=False, replaces="", replaces_text="", time=None, expires=False)]  # fmt: skip

    def _second(
        self, form: Form, view: View, found: Found, who: Who, talk: Talk, slots: Mapping[str, tuple[int, int]]
    ) -> list[Found] | None:
        """在远山软件做测试 tells the employer besides the job; None when the words will not do."""
        relation = self.vocabulary.get(form.second)
        if relation is None or "second" not in slots:
            return []
        spans = self.objects.find(view, *slots["second"], relation, form.types.get("second", ""), talk.signs)
        if not spans:
            return None
        relation = self._routed(view, spans, relation)
        # A cat that my daughter has is hers: it is not called one of mine.
        own = who.kind in ("user", "we")
        subject = (
            (self._relative_in(found.object) if own else None) if form.of_object else self.filed(relation, who, talk)
        )
        if subject is None:
            return []
        said = [(s, self.objects.said(view, s)) for s in spans]
        return [
            replace(found, relation=relation, subject=subject, object=o, value=self.objects.value(o, relation),
                    replaces="", replaces_text="", object_start=s.start, time=None, expires=False)
            for s, o in said
        ]  # fmt: skip

    def _relative_in(self, words: str) -> str | None:
        """Whom an object like 一个弟弟 or "a black dog" brings in."""
        found = compiled(self.grammar.kin).findall(words)
        return self.each_of(self.grammar.relative(found[-1])) if found else None

    def brought_in(self, found: Found) -> str | None:
        """Whom a statement like "I adopted a puppy" brings in, for the pronouns that follow."""
        kin = self._relative_in(found.object)
        return None if found.negated else kin

    def each_of(self, relatives: str) -> str:
        """Whom the name of one of several relatives is filed under: two dogs are called Max and Ida."""
        return self.grammar.one_of.get(relatives, relatives)

    def _also(self, form: Form, found: Found, who: Who, talk: Talk) -> list[Found]:
        """What the same words state besides: who deploys with Docker can use it."""
        more = []
        for name in form.also:
            relation = self.vocabulary.get(name)
            if relation is not None and (subject := self.filed(relation, who, talk)):
                more.append(
                    replace(found, relation=relation, subject=subject, replaces="", replaces_text="", implied=False)
                )
        return more

    def _from_party(self, form: Form, found: Found, talk: Talk) -> list[Found]:
        """合同包含GPU算力租赁: what is rented comes from the one company that the contract is with."""
        relation = self.vocabulary.get(form.from_party)
        if relation is None or len(talk.parties) != 1:
            return []
        [party] = talk.parties
        value = self.objects.value(party, relation)
        return [replace(found, relation=relation, subject=found.object, object=party, value=value)]

    def _old(self, form: Form, view: View, slots: Mapping[str, tuple[int, int]], signs: int) -> str | None:
        """The value that is left behind as written, "" when none is named, None when it will not do."""
        if "old" not in slots:
            return ""
        span = self.objects.trim(view, *slots["old"], signs)
        kind = form.types.get("old")
        if span.start >= span.end or (kind and not self.objects.is_a(view, span, kind)):
            return None
        return self.objects.said(view, span)

    def _routed(self, view: View, spans: Sequence[Clause], relation: Relation) -> Relation:
        """我用 PostgreSQL is about the database: a known kind of thing has its own relation."""
        for kind, (away, to) in self.constructions.routes.items():
            routed = self.vocabulary.get(to)
            if away == relation.name and routed is not None and all(self.objects.is_a(view, s, kind) for s in spans):
                return routed
        return relation


def _time(form: Form, view: View, slots: Mapping[str, tuple[int, int]]) -> TimeExpression | None:
    if "time" not in slots:
        return None
    start = slots["time"][0]
    leaning = {"future": view.ahead, "past": view.behind}.get(form.tense, {})
    return view.times.get(start) or leaning.get(start)


def _in_tense(form: Form, view: View, slots: Mapping[str, tuple[int, int]]) -> bool:
    """Whether the date lies where the form says: nobody did something tomorrow."""
    time = _time(form, view, slots)
    if time is None or time.when is None:
        return not form.timed or "time" not in slots
    if form.moved and slots["time"][0] not in view.times and time.when.first_day == view.at.date():
        return False  # put off to Monday, said on a Monday: today would be called so
    return not form.tense or (time.when.start <= view.at if form.tense == "past" else time.when.end > view.at)


def _joined(view: View, clause: Clause) -> bool:
    """Whether "and" or "but" ties the clause to the one before."""
    return view.lower[: clause.start].rstrip().endswith((" and", " but", ",and", " also"))


def _slots(matches: Sequence[re.Match[str]]) -> dict[str, tuple[int, int]]:
    """Slot → span; subject1, subject2 … are one slot, the first that was filled."""
    slots: dict[str, tuple[int, int]] = {}
    for match in matches:
        spans = match.regs
        for name, number in _named_groups(match.re.pattern):
            start, end = spans[number]
            if end > start >= 0 and name not in slots:
                slots[name] = (start, end)
    return slots


@cache
def _named_groups(source: str) -> tuple[tuple[str, int], ...]:
    """The slots of a form's regex and the groups that fill them."""
    return tuple((name.rstrip("0123456789"), number) for name, number in compiled(source).groupindex.items())
