"""Makes what questions about the graph need from its files: the names of things, and the fusion rules. A part of assembly."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from jiyi.domain.fusion_rules import RuleSet, parse_rules
from jiyi.domain.relations import Vocabulary
from jiyi.errors import SettingsError
from jiyi.pipelines.graph.exploring import Graphing
from jiyi.pipelines.graph.view import GraphView
from jiyi.ports import Store
from jiyi.settings import Settings
from jiyi.shipped import load_entities, shipped_text
from jiyi.text.segmentation import Segmenter

RULES = "fusion_rules.json"
MADE_WITH = "graph"
"""Name of the database's own note of what its graph was made with."""
VERSION = 1
"""Raise it with any change of the code that makes edges or groups names otherwise."""


def open_graphing(settings: Settings, vocabulary: Vocabulary, segmenter: Segmenter) -> Graphing:
    """The graph as a view, with the rules that the settings name.

    Raises:
        SettingsError: the file of rules cannot be read, or has faults: each with its line.
    """
    view = GraphView(vocabulary, load_entities(segmenter), followed=settings.graph_engine is not None)
    return Graphing(view, load_rules(vocabulary, settings.fusion_rules), settings.confidence, settings.graph)


def follow_graph(store: Store, view: GraphView) -> None:
    """Make the graph of every scope again where it was made with other names of things, or before there was one: a database
    of an older jiyi, or an old backup."""
    identity = _identity(view.vocabulary)
    if store.meta(MADE_WITH) == identity:
        return
    for scope in store.view(lambda unit: list(unit.scopes())):
        store.write(lambda unit, s=scope: view.rebuild(unit, s))  # type: ignore[misc]
    store.set_meta(MADE_WITH, identity)


@cache
def _identity(vocabulary: Vocabulary) -> str:
    shapes = sorted(f"{r.name} {r.object_type} {r.identity}" for r in vocabulary)
    return hashlib.sha256("\n".join([str(VERSION), shipped_text("entities.toml"), *shapes]).encode()).hexdigest()[:12]


def shipped_rules() -> str:
    """The shipped fusion rules as they are written, to make a file of one's own from."""
    return shipped_text(RULES)


def load_rules(vocabulary: Vocabulary, file: str | None = None) -> RuleSet:
    """The shipped fusion rules, or those of a file of one's own in their place (SPEC G2).

    Raises:
        SettingsError: the file cannot be read, or has faults: each with its line.
    """
    if file is None:
        return _own_rules(vocabulary)
    try:
        # Some editors put a byte order mark before the text.
        text = Path(file).expanduser().read_text("utf-8-sig")
    except (OSError, ValueError, RuntimeError) as error:  # also bytes that are no UTF-8, and a home that is not there
        raise SettingsError(f"fusion_rules {file}: {error}") from error
    return parse_rules(text, file, vocabulary)


@cache
def _own_rules(vocabulary: Vocabulary) -> RuleSet:
    return parse_rules(shipped_rules(), RULES, vocabulary)
