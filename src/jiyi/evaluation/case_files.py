"""Golden cases: short stories in TOML, each a list of steps that act or expect (SPEC R12).

    [[case]]
    id = "database-changed"
    rows = ["B3"]
    steps = [
      { say = "Our database is MySQL." },
      { say = "We moved the database from MySQL to PostgreSQL." },
      { memories = true, has = ["PostgreSQL"], lacks = ["MySQL"] },
    ]

Everything is checked here, before anything runs, so that a typing error is not mistaken for a behaviour.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

from jiyi.domain.memory import Category, Role, Tier
from jiyi.domain.standing import Detail
from jiyi.errors import InputError
from jiyi.pipelines.observe import instant
from jiyi.pipelines.recalling.filters import ALL_KINDS

ALTERNATIVES = " | "
"""Separates alternatives in an expected string: any of them will do."""


@dataclass(frozen=True, slots=True)
class Step:
    """One action or expectation. `number` counts from 1; `args` holds what stands beside the verb."""

    number: int
    verb: str
    value: Any
    args: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f'{self.verb} "{self.value}"' if isinstance(self.value, str) else self.verb

    @property
    def expects(self) -> bool:
        return self.verb in EXPECTATIONS


@dataclass(frozen=True, slots=True)
class Case:
    """`rows` are the SPEC rows it shows; `policy` names a setting it pins, empty for the defaults."""

    id: str
    file: str
    rows: tuple[str, ...]
    steps: tuple[Step, ...]
    policy: str = ""


# ------------------------------------------------------------------ the values that fields may hold

Checker: TypeAlias = Callable[[Any], str]
"""Says what is wrong with a value; empty when nothing is."""


def _is(kind: type, words: str) -> Checker:
    return lambda value: "" if isinstance(value, kind) and not _stray_bool(kind, value) else f"must be {words}"


def _stray_bool(kind: type, value: Any) -> bool:
    return isinstance(value, bool) and kind is not bool


def _texts(value: Any) -> str:
    good = isinstance(value, list) and bool(value) and all(isinstance(v, str) and v for v in value)
    return "" if good else 'must be a list of texts, e.g. ["tea"]'


def _ids(value: Any) -> str:
    return "" if value == [] else _texts(value)


def _text(value: Any) -> str:
    return "" if isinstance(value, str) and value.strip() else "must be a text"


def _any_text(value: Any) -> str:
    return "" if isinstance(value, str) else "must be a text"


def _true(value: Any) -> str:
    return "" if value is True else "must be true"


def _count(value: Any) -> str:
    return "" if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else "must be 0 or more"


def _positive(value: Any) -> str:
    return _count(value) or ("" if value else "must be 1 or more")


def _one_of(names: Collection[str]) -> Checker:
    return lambda value: "" if value in names else f"must be one of {', '.join(names)}"


def _instant(value: Any) -> str:
    try:
        instant(value)
    except InputError as error:
        return str(error)
    return ""


def _kinds(value: Any) -> str:
    return _texts(value) or ("" if set(value) <= ALL_KINDS else f"must be some of {', '.join(sorted(ALL_KINDS))}")


def _confidence(value: Any) -> str:
    good = (
        isinstance(value, list)
        and len(value) == 3
        and isinstance(value[0], str)
        and all(isinstance(v, int | float) for v in value[1:])
    )
    return "" if good else 'must be ["text", low, high]'


def _triples(value: Any) -> str:
    good = isinstance(value, list) and bool(value)
    good = good and all(isinstance(t, list) and len(t) == 3 and all(isinstance(v, str) for v in t) for t in value)
    return "" if good else 'must be [["subject", "RELATION", "object"], …]'


_SPAN = re.compile(r"(\d+)\s*([wdhm])")
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes"}


def span(value: str) -> timedelta:
    """`180d`, `2w`, `3h` or `30m` as a length of time. Raises: InputError."""
    match = _SPAN.fullmatch(value.strip())
    if match is None:
        raise InputError(f"{value!r} is not a length of time: write 30m, 3h, 180d or 2w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _span(value: Any) -> str:
    if not isinstance(value, str):
        return "must be a length of time, e.g. 180d"
    try:
        span(value)
    except InputError as error:
        return str(error)
    return ""


_TABLE = _is(dict, "a table { … }")
_WHO: Mapping[str, Checker] = {"user": _text}
_HAS: Mapping[str, Checker] = {"has": _texts, "lacks": _texts}


@dataclass(frozen=True, slots=True)
class _Shape:
    """`value` checks what stands at the verb itself, `checks` are the fields of which an expectation needs one."""

    value: Checker
    args: Mapping[str, Checker] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    checks: Mapping[str, Checker] = field(default_factory=dict)


ACTIONS: Mapping[str, _Shape] = {
    "say": _Shape(
        _text, {**_WHO, "role": _one_of(tuple(Role)), "name": _text, "session": _text, "at": _instant, "id": _text}
    ),
    "remember": _Shape(_text, {**_WHO, "category": _one_of(tuple(Category)), "importance": _positive}),
    "session": _Shape(_text),
    "advance": _Shape(_span),
    "verify": _Shape(_text, _WHO),
    "answer": _Shape(_text, _WHO),
    "undo": _Shape(_true, _WHO),
    "forget": _Shape(_TABLE, _WHO),
    "correct": _Shape(_text, {**_WHO, "to": _text}, needs=("to",)),
    "retention": _Shape(_TABLE, _WHO),
}
EXPECTATIONS: Mapping[str, _Shape] = {
    "recall": _Shape(
        _any_text, {**_WHO, "session": _text, "kinds": _kinds, "k": _positive},
        checks={"top": _texts, "lacks": _texts, "exactly": _ids},
    ),
    "context": _Shape(
        _any_text, {**_WHO, "session": _text, "budget": _positive}, checks={**_HAS, "max_tokens": _count}
    ),
    "memories": _Shape(
        _true, {**_WHO, "tier": _one_of(tuple(Tier))},
        checks={**_HAS, "min": _count, "max": _count, "triples": _triples, "confidence": _confidence},
    ),
    "history_of": _Shape(_text, _WHO, needs=("values",), checks={"values": _texts}),
    "profile": _Shape(_true, _WHO, checks={**_HAS, "max_chars": _count}),
    "question": _Shape(_true, _WHO, checks={"has": _texts, "count": _count}),
    "near": _Shape(_text, {**_WHO, "hops": _positive}, checks=_HAS),
    "derived": _Shape(_true, _WHO, checks={**_HAS, "count": _count}),
    "stored": _Shape(_true, checks=_HAS),
}  # fmt: skip
_SHAPES: Mapping[str, _Shape] = {**ACTIONS, **EXPECTATIONS}
_FORGET = {"memory": _text, "topic": _text, "session": _text, "since": _instant, "until": _instant, "everything": _true}
_RETENTION = {
    "detail": _one_of(tuple(Detail)),
    "past": _true,
    "paused": _is(bool, "true or false"),
    "consent": _is(bool, "true or false"),
}
_TABLES: Mapping[str, Mapping[str, Checker]] = {"forget": _FORGET, "retention": _RETENTION}
"""Verbs whose value is a table, with what it may hold."""
_CASE_FIELDS = frozenset({"id", "rows", "policy", "steps"})


# ------------------------------------------------------------------ reading


def load_cases(folder: Path) -> list[Case]:
    """All cases of the `*.toml` files of a folder, by file name and then in their order.

    Raises:
        InputError: no such folder, no case in it, or a malformed one; names file, case and step.
    """
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise InputError(f"{folder}: no *.toml files with cases there")
    cases = [case for file in files for case in read_cases(file)]
    if not cases:
        raise InputError(f"{folder}: the files hold no [[case]]")
    twice = sorted(name for name, times in Counter(c.id for c in cases).items() if times > 1)
    if twice:
        raise InputError(f"{folder}: the id {', '.join(twice)} is used more than once: give each case its own")
    return cases


def read_cases(file: Path) -> list[Case]:
    """The cases of one file. Raises: InputError, as `load_cases`."""
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {error}") from error
    tables = data.pop("case", [])
    if data or not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise InputError(f"{file}: a file of cases holds only [[case]] tables")
    return [_case(table, number, file.name) for number, table in enumerate(tables, 1)]


def _case(table: Mapping[str, Any], number: int, file: str) -> Case:
    name = table.get("id")
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{file}, case number {number}: needs an id, a text")
    where = f"{file}, case {name}"
    _known(table, _CASE_FIELDS, where)
    if wrong := _texts(table.get("rows")):
        raise InputError(f"{where}: rows {wrong.replace('tea', 'B3')}, the rows of SPEC it shows")
    if wrong := _any_text(table.get("policy", "")):
        raise InputError(f"{where}: policy {wrong}")
    steps = table.get("steps")
    if not isinstance(steps, list) or not steps:
        raise InputError(f"{where}: needs steps, a list of tables")
    read = tuple(_step(step, at, f"{where}, step {at}") for at, step in enumerate(steps, 1))
    if not any(step.expects for step in read):
        raise InputError(f"{where}: expects nothing, so it cannot fail: add a step such as {{ memories = true, … }}")
    return Case(name, file, tuple(table["rows"]), read, table.get("policy", ""))


def _step(table: Any, number: int, where: str) -> Step:
    if not isinstance(table, dict) or not table:
        raise InputError(f"{where}: a step is a table such as {{ say = '…' }}")
    # `session` is an action of its own only where nothing else is.
    verbs = [name for name in table if name in _SHAPES and (name != "session" or len(table) == 1)]
    if len(verbs) != 1:
        problem = f"has {' and '.join(verbs)} in one step" if verbs else f"unknown action {', '.join(table)}"
        raise InputError(f"{where}: {problem}; a step is one of {', '.join(_SHAPES)}")
    verb = verbs[0]
    shape = _SHAPES[verb]
    args = {name: value for name, value in table.items() if name != verb}
    _known(args, {*shape.args, *shape.needs, *shape.checks}, where, verb)
    for name, check in ((verb, shape.value), *shape.args.items(), *shape.checks.items()):
        if name in table and (wrong := check(table[name])):
            raise InputError(f"{where}: {name} {wrong}, not {table[name]!r}")
    if missing := [name for name in shape.needs if name not in args]:
        raise InputError(f"{where}: {verb} needs {', '.join(missing)}")
    if shape.checks and not args.keys() & shape.checks.keys():
        raise InputError(f"{where}: {verb} checks nothing: give some of {', '.join(shape.checks)}")
    if verb in _TABLES:
        _check_table(verb, table[verb], where)
    return Step(number, verb, table[verb], args)


def _check_table(verb: str, table: Mapping[str, Any], where: str) -> None:
    fields = _TABLES[verb]
    _known(table, fields.keys(), where, verb)
    if not table:
        raise InputError(f"{where}: {verb} needs one of {', '.join(fields)}")
    for name, value in table.items():
        if wrong := fields[name](value):
            raise InputError(f"{where}: {name} {wrong}, not {value!r}")


def _known(table: Mapping[str, Any], known: Collection[str], where: str, verb: str = "") -> None:
    if unknown := sorted(set(table) - set(known)):
        takes = f"{verb} takes" if verb else "a case has"
        fields = ", ".join(sorted(known)) or "nothing else"
        raise InputError(f"{where}: unknown field {', '.join(unknown)}; {takes} {fields}")
