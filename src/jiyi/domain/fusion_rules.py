"""Fusion rules (SPEC G2): what follows from triples that meet, as data that people edit without code.

A rule is a pattern of triples with `?variables`, a guard, and one effect: `derive` a triple, give `weight` to an entity, `ask`
the user whether one of the triples still holds, or `arbitrate` between two that exclude each other. Rules that derive may
build on what other rules derive, but never in a circle: so whatever set is accepted comes to an end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from jiyi.domain.entities import EntityType
from jiyi.domain.memory import Language
from jiyi.domain.relations import Vocabulary
from jiyi.errors import SettingsError

MAX_ATOMS = 4
MAX_RULES = 200
ANY = "*"
ACTIVATION = 0.3
"""SPEC G2: what a triple adds to its neighbours, where a rule does not say otherwise."""

RULE_FIELDS = ("id", "zh", "en", "when", "past", "guard", "then", "off")
GUARD_FIELDS = ("different", "same_kind", "later", "within_days", "type", "sure", "mentions", "over")
EFFECTS = ("derive", "weight", "ask", "arbitrate")
_RELATION = re.compile(r"[A-Z][A-Z0-9_]*")
_VARIABLE = re.compile(r"\?[a-z][a-z0-9_]*")
_HOLE = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Atom:
    """One triple of a pattern. A term is a `?variable` or the name of an entity. No relations: any that was told, but none
    that is derived. `past`: it may be over."""

    subject: str
    relations: tuple[str, ...]
    object: str
    past: bool = False

    @property
    def terms(self) -> tuple[str, str]:
        return (self.subject, self.object)

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(t for t in self.terms if is_variable(t))


@dataclass(frozen=True, slots=True)
class Guard:
    """What must hold of a match besides. Numbers name triples of the pattern, from 0.

    `different`: two entities. `same_kind`: two of one known kind. `later`: the first began no earlier than the second.
    `within_days`: they began no further apart. `types`: what an entity must be. `sure`: how sure every triple must be.
    `mentions`: how often a triple must have been said. `over`: a triple must be past.
    """

    different: tuple[tuple[str, str], ...] = ()
    same_kind: tuple[tuple[str, str], ...] = ()
    later: tuple[tuple[int, int], ...] = ()
    within_days: tuple[tuple[int, int, int], ...] = ()
    types: Mapping[str, frozenset[EntityType]] = field(default_factory=dict)
    sure: float = 0.0
    mentions: tuple[tuple[int, int], ...] = ()
    over: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Derive:
    subject: str
    relation: str
    object: str
    sure: float = 0.7


@dataclass(frozen=True, slots=True)
class Weight:
    variable: str
    by: float = ACTIVATION


@dataclass(frozen=True, slots=True)
class Ask:
    """Which triples the user may be asked about; of several the one that is least sure."""

    about: tuple[int, ...]


Effect: TypeAlias = Derive | Weight | Ask


@dataclass(frozen=True, slots=True)
class Rule:
    """`line` is where it stands in its file; `level` is above that of every rule that it builds on, from 1."""

    id: str
    line: int
    says: Mapping[Language, str]
    when: tuple[Atom, ...]
    guard: Guard
    effect: Effect
    off: bool = False
    level: int = 1

    @property
    def needs(self) -> frozenset[str]:
        return frozenset(name for atom in self.when for name in atom.relations)

    def told(self, language: Language, names: Mapping[str, str]) -> str:
        """The explanation with the names of what it is about."""
        return _HOLE.sub(lambda m: names.get(f"?{m.group(1)}", m.group()), self.says[language])


@dataclass(frozen=True, slots=True)
class WayIn:
    """A rule that derives, with one end of what it derives. `needs`: what an entity must have been told in for the rule to be
    worth trying there, for each triple of the pattern the relations, and whether it is their subject."""

    rule: Rule
    effect: Derive
    term: str
    needs: tuple[tuple[tuple[str, ...], bool], ...]

    def is_open(self, told: Set[tuple[str, bool]]) -> bool:
        return all(any((name, subject) in told for name in names) for names, subject in self.needs)


def _ways_in(rules: Iterable[Rule], derived: frozenset[str]) -> Iterator[WayIn]:
    for rule in rules:
        if isinstance(rule.effect, Derive):
            for term in (rule.effect.subject, rule.effect.object):
                # What is derived, or has any relation, tells nothing beforehand.
                firm = [a for a in rule.when if a.relations and not derived.intersection(a.relations)]
                needs = [
                    (a.relations, side)
                    for a in firm
                    for t, side in zip(a.terms, (True, False), strict=True)
                    if t == term
                ]
                yield WayIn(rule, rule.effect, term, tuple(needs))


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of one file that are on. `says` tells what a derived relation means, by language."""

    rules: tuple[Rule, ...]
    says: Mapping[str, Mapping[Language, str]]
    asleep: tuple[Rule, ...] = ()
    derived: frozenset[str] = field(init=False, repr=False)
    ways_in: tuple[WayIn, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        derived = frozenset(r.effect.relation for r in self.rules if isinstance(r.effect, Derive))
        object.__setattr__(self, "derived", derived)
        object.__setattr__(self, "ways_in", tuple(_ways_in(self.rules, derived)))

    def get(self, rule_id: str) -> Rule | None:
        return next((r for r in (*self.rules, *self.asleep) if r.id == rule_id), None)


def is_variable(term: str) -> bool:
    return term.startswith("?")


# ---------------------------------------------------------------------------------- reading a file


class _Problems:
    """All that is wrong with a file, each with its line."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.found: list[str] = []

    def add(self, line: int, told: str) -> None:
        self.found.append(f"{self._name}, line {line}: {told}")


def parse_rules(text: str, name: str, vocabulary: Vocabulary) -> RuleSet:
    """Read a file of rules, whole or not at all.

    Args:
        name: of the file, for messages.
        vocabulary: the relations that were told can have.

    Raises:
        SettingsError: what is wrong, one line for each, with the line of the file.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise SettingsError(f"{name}, line {error.lineno}: {error.msg}") from error
    except RecursionError as error:
        raise SettingsError(f"{name}: nested too deeply") from error
    problems = _Problems(name)
    if not isinstance(data, dict) or not isinstance(data.get("rules"), list):
        raise SettingsError(f'{name}, line 1: expected {{"relations": {{…}}, "rules": […]}}')
    for field_name in data.keys() - {"$schema", "relations", "rules"}:
        problems.add(_line_of(text, f'"{field_name}"'), f"unknown field {field_name!r}")
    says = _relations(data.get("relations", {}), text, vocabulary, problems)
    rules = []
    for raw, start, end in _items(text):
        reader = _Reader(raw, text, start, end, vocabulary, says, problems)
        if (rule := reader.rule()) is not None:
            rules.append(rule)
    if len(rules) > MAX_RULES:
        problems.add(rules[MAX_RULES].line, f"more than {MAX_RULES} rules")
    seen: dict[str, int] = {}
    for rule in rules:
        if seen.setdefault(rule.id, rule.line) != rule.line:
            problems.add(rule.line, f"rule {rule.id} stands in line {seen[rule.id]} already")
    on = [r for r in rules if not r.off]
    levelled = _levelled(on, problems) if not problems.found else []
    if problems.found:
        raise SettingsError("\n".join(problems.found))
    return RuleSet(tuple(levelled), says, tuple(r for r in rules if r.off))


def _line_of(text: str, piece: str, start: int = 0, end: int | None = None) -> int:
    at = text.find(piece, start, len(text) if end is None else end)
    return text.count("\n", 0, max(start, at)) + 1


def _items(text: str) -> Iterator[tuple[Any, int, int]]:
    """The elements of the outer "rules", each with where it begins and ends in the text."""
    decoder, at = json.JSONDecoder(), _start_of_rules(text)
    while True:
        at = _skip(text, at)
        if text[at] == "]":
            return
        value, end = decoder.raw_decode(text, at)
        yield value, at, end
        at = _skip(text, end)
        if text[at] == ",":
            at += 1


def _start_of_rules(text: str) -> int:
    """Behind the bracket of "rules", by going through the fields of the outer object."""
    decoder, at = json.JSONDecoder(), _skip(text, 0) + 1
    while True:
        at = _skip(text, at)
        key, at = decoder.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        if key == "rules":
            return at + 1
        _, at = decoder.raw_decode(text, at)
        at = _skip(text, at) + 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _relations(table: Any, text: str, vocabulary: Vocabulary, problems: _Problems) -> dict[str, Mapping[Language, str]]:
    says: dict[str, Mapping[Language, str]] = {}
    for name, told in table.items() if isinstance(table, dict) else ():
        line = _line_of(text, f'"{name}"')
        if not _RELATION.fullmatch(name):
            problems.add(line, f"relation {name!r}: write it like MAY_LEAVE, in capitals")
        elif vocabulary.get(name) is not None:
            problems.add(line, f"relation {name} is told by people already: name what is derived otherwise")
        if not isinstance(told, dict) or set(told) != {"zh", "en"}:
            problems.add(line, f"relation {name}: needs zh and en, as it is told of {{subject}} and {{object}}")
            continue
        if any("{subject}" not in t or "{object}" not in t for t in map(str, told.values())):
            problems.add(line, f"relation {name}: zh and en each need {{subject}} and {{object}}")
        says[name] = {language: str(told[language.value]) for language in Language}
    if not isinstance(table, dict):
        problems.add(_line_of(text, '"relations"'), "relations must be an object of names")
    return says


class _Reader:
    """Reads one rule, noting all that is wrong with it."""

    def __init__(
        self,
        raw: Any,
        text: str,
        start: int,
        end: int,
        vocabulary: Vocabulary,
        says: Mapping[str, Mapping[Language, str]],
        problems: _Problems,
    ) -> None:
        self._raw, self._text, self._start, self._end = raw, text, start, end
        self._vocabulary, self._says, self._problems = vocabulary, says, problems
        self._id = str(raw.get("id", "?")) if isinstance(raw, dict) else "?"
        self._sound = True

    def _wrong(self, field_name: str, told: str) -> None:
        self._sound = False
        line = _line_of(self._text, f'"{field_name}"', self._start, self._end)
        self._problems.add(line, f"rule {self._id}: {told}")

    def rule(self) -> Rule | None:
        raw = self._raw
        if not isinstance(raw, dict):
            self._wrong("", "a rule is an object {…}")
            return None
        for name in sorted(raw.keys() - set(RULE_FIELDS)):
            self._wrong(name, f"unknown field {name!r}; known are {', '.join(RULE_FIELDS)}")
        if not isinstance(raw.get("id"), str) or not re.fullmatch(r"[a-z0-9][a-z0-9-]*", self._id):
            self._wrong("id", "needs an id in small letters, such as partner-and-rival")
        when = self._atoms()
        if not when:
            return None
        guard, effect = self._guard(when), self._effect(when)
        known = frozenset(v for atom in when for v in atom.variables)
        for language in Language:
            told = raw.get(language.value)
            if not isinstance(told, str) or not told.strip():
                self._wrong(language.value, f"needs its explanation in {language.value}")
            elif lost := [h for h in _HOLE.findall(told) if f"?{h}" not in known]:
                self._wrong(language.value, f"{{{lost[0]}}} is no variable of the pattern")
        if not isinstance(raw.get("off", False), bool):
            self._wrong("off", "off is true or false")
        if not self._sound or effect is None:
            return None
        says = {language: str(raw[language.value]) for language in Language}
        line = _line_of(self._text, '"id"', self._start, self._end)
        return Rule(self._id, line, says, when, guard, effect, bool(raw.get("off", False)))

    def _atoms(self) -> tuple[Atom, ...]:
        raw, past = self._raw.get("when"), self._raw.get("past", [])
        if not isinstance(raw, list) or not 1 <= len(raw) <= MAX_ATOMS:
            self._wrong("when", f'needs 1 to {MAX_ATOMS} triples: [["?us", "USES_CLOUD", "?cloud"]]')
            return ()
        over = self._raw.get("guard", {})
        over = over.get("over", []) if isinstance(over, dict) else []
        atoms: list[Atom] = []
        for number, triple in enumerate(raw):
            if not isinstance(triple, list) or len(triple) != 3:
                self._wrong("when", f"triple {number} is not [subject, relation, object]")
                return ()
            subject, relation, thing = triple
            relations = relation if isinstance(relation, list) else [relation]
            if not all(isinstance(t, str) and t for t in (subject, thing, *relations)) or not relations:
                self._wrong("when", f"triple {number} must hold texts")
                return ()
            for term in (subject, thing):
                if is_variable(term) and not _VARIABLE.fullmatch(term):
                    self._wrong("when", f"{term!r} is no variable: write ?small_letters")
            for name in relations:
                if name != ANY and self._vocabulary.get(name) is None and name not in self._says:
                    self._wrong(
                        "when", f"unknown relation {name}: relations.toml and “relations” of this file name them"
                    )
            if ANY in relations and len(relations) > 1:
                self._wrong("when", f"triple {number}: {ANY} stands alone")
            names = () if ANY in relations else tuple(relations)
            atoms.append(Atom(subject, names, thing, number in past or number in over))
        self._numbers("past", past, len(atoms))
        if loose := unconnected(atoms):
            self._wrong(
                "when",
                f"triple {loose} shares no variable with those before it and names nothing: everything would meet everything",
            )
        return tuple(atoms)

    def _numbers(self, where: str, given: Any, count: int) -> bool:
        if isinstance(given, list) and all(isinstance(n, int) and 0 <= n < count for n in given):
            return True
        self._wrong(where, f"{where} names triples by number, from 0 to {count - 1}")
        return False

    def _guard(self, when: Sequence[Atom]) -> Guard:
        raw = self._raw.get("guard", {})
        if not isinstance(raw, dict):
            self._wrong("guard", "guard is an object {…}")
            return Guard()
        for name in sorted(raw.keys() - set(GUARD_FIELDS)):
            self._wrong(name, f"unknown guard {name!r}; known are {', '.join(GUARD_FIELDS)}")
        count, known = len(when), {v for atom in when for v in atom.variables}
        pairs = {name: self._rows(raw, name, (str, str)) for name in ("different", "same_kind")}
        for name, rows in pairs.items():
            if unknown := [v for row in rows for v in row if v not in known]:
                self._wrong(name, f"{name}: {unknown[0]} is no variable of the pattern")
        later = self._rows(raw, "later", (int, int))
        within = self._rows(raw, "within_days", (int, int, int))
        mentions = self._rows(raw, "mentions", (int, int))
        for name, numbers in (
            ("later", [n for row in later for n in row]),
            ("within_days", [n for row in within for n in row[:2]]),
            ("mentions", [row[0] for row in mentions]),
            ("over", raw.get("over", [])),
        ):
            self._numbers(name, numbers, count)
        sure = raw.get("sure", 0.0)
        if not _is_share(sure):
            self._wrong("sure", "sure is a number from 0 to 1")
            sure = 0.0
        over = raw.get("over", [])
        return Guard(
            different=tuple(pairs["different"]), same_kind=tuple(pairs["same_kind"]), later=tuple(later),
            within_days=tuple(within), types=self._types(raw, known), sure=float(sure), mentions=tuple(mentions),
            over=tuple(over) if isinstance(over, list) else (),
        )  # fmt: skip

    def _rows(self, raw: Mapping[str, Any], name: str, shape: tuple[type, ...]) -> list[Any]:
        rows = raw.get(name, [])
        sound = isinstance(rows, list) and all(
            isinstance(row, list)
            and len(row) == len(shape)
            and all(isinstance(v, kind) and not isinstance(v, bool) for v, kind in zip(row, shape, strict=True))
            for row in rows
        )
        if not sound:
            self._wrong(name, f"{name} is a list of lists of {len(shape)}")
            return []
        return [tuple(row) for row in rows]

    def _types(self, raw: Mapping[str, Any], known: set[str]) -> dict[str, frozenset[EntityType]]:
        table, found = raw.get("type", {}), {}
        for variable, names in table.items() if isinstance(table, dict) else [("?", None)]:
            if variable not in known:
                self._wrong("type", f"type: {variable} is no variable of the pattern")
            elif not isinstance(names, list) or not all(n in _TYPE_NAMES for n in names):
                self._wrong("type", f"type of {variable}: a list of {', '.join(_TYPE_NAMES)}")
            else:
                found[variable] = frozenset(EntityType(n) for n in names)
        return found

    def _effect(self, when: Sequence[Atom]) -> Effect | None:
        raw = self._raw.get("then")
        named = [e for e in EFFECTS if isinstance(raw, dict) and e in raw]
        if not isinstance(raw, dict) or len(named) != 1:
            self._wrong("then", f"then needs one of {', '.join(EFFECTS)}")
            return None
        more = {"derive": {"sure"}, "weight": {"by"}}.get(named[0], set())
        for name in sorted(raw.keys() - {named[0]} - more):
            self._wrong(name, f"{named[0]} takes no {name!r}")
        known = {v for atom in when for v in atom.variables}
        match named[0]:
            case "derive":
                return self._derive(raw, known)
            case "weight":
                by = raw.get("by", ACTIVATION)
                if raw["weight"] not in known or not _is_share(by):
                    self._wrong("weight", "weight names a variable of the pattern, by is a number from 0 to 1")
                    return None
                return Weight(str(raw["weight"]), float(by))
            case _:
                about = raw.get("arbitrate", [raw.get("ask")])
                least = 2 if named[0] == "arbitrate" else 1
                if not self._numbers(named[0], about, len(when)) or len(about) < least:
                    self._wrong(named[0], "ask names one triple, arbitrate a list of two or more")
                    return None
                return Ask(tuple(about))

    def _derive(self, raw: Mapping[str, Any], known: set[str]) -> Derive | None:
        triple, sure = raw["derive"], raw.get("sure", 0.7)
        if not isinstance(triple, list) or len(triple) != 3 or not all(isinstance(t, str) for t in triple):
            self._wrong("derive", "derive is [subject, relation, object]")
            return None
        subject, relation, thing = triple
        if lost := [t for t in (subject, thing) if is_variable(t) and t not in known]:
            self._wrong("derive", f"{lost[0]} is no variable of the pattern")
        if relation not in self._says:
            self._wrong("derive", f"“relations” of this file must say what {relation} means, in zh and en")
        if not _is_share(sure):
            self._wrong("sure", "sure is a number from 0 to 1")
            return None
        return Derive(subject, relation, thing, float(sure))


_TYPE_NAMES = tuple(t.value for t in EntityType)


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def unconnected(atoms: Sequence[Atom]) -> int | None:
    """The first triple that shares no variable with those before it and names nothing, so that all would meet all."""
    seen = set(atoms[0].variables) if atoms else set()
    for number, atom in enumerate(atoms[1:], 1):
        if len(atom.variables) == len(set(atom.terms)) and not atom.variables & seen:
            return number
        seen |= atom.variables
    return None


def _levelled(rules: Sequence[Rule], problems: _Problems) -> list[Rule]:
    """Each rule above those that it builds on. A circle is refused: it could go round for ever."""
    makers: dict[str, list[Rule]] = {}
    for rule in rules:
        if isinstance(rule.effect, Derive):
            makers.setdefault(rule.effect.relation, []).append(rule)
    levels: dict[str, int] = {}

    def level(rule: Rule, on_the_way: tuple[str, ...]) -> int:
        if rule.id in on_the_way:
            circle = " → ".join((*on_the_way[on_the_way.index(rule.id) :], rule.id))
            problems.add(rule.line, f"rule {rule.id}: these rules feed each other in a circle: {circle}")
            return 1
        if rule.id not in levels:
            below = [maker for name in sorted(rule.needs) for maker in makers.get(name, ())]
            levels[rule.id] = 1 + max((level(m, (*on_the_way, rule.id)) for m in below), default=0)
        return levels[rule.id]

    levelled = []
    for rule in rules:
        levelled.append(replace(rule, level=level(rule, ())))
        if problems.found:
            break
    return levelled
