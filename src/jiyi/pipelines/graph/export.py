"""A graph as text that other programs read: GraphML, JSON, Mermaid (SPEC G3)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from xml.sax.saxutils import escape, quoteattr

from jiyi.errors import InputError
from jiyi.pipelines.graph.questions import Picture, Tie

# XML has no place for these, whatever way they are written.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_NODE_KEYS = {"label": "string", "type": "string", "aliases": "string"}
_EDGE_KEYS = {
    "relation": "string", "text": "string", "confidence": "double", "since": "string", "until": "string",
    "memory": "string", "rule": "string", "premises": "string",
}  # fmt: skip


def as_json(picture: Picture) -> str:
    """One JSON document: `entities` and `ties`."""
    document = {
        "entities": [
            {"name": e.name, "type": e.type.value, "aliases": {a.name: a.reason.value for a in e.aliases}}
            for e in picture.entities
        ],
        "ties": [tie_document(t) for t in picture.ties],
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def tie_document(tie: Tie) -> Mapping[str, object]:
    """A triple as plain JSON values."""
    return {
        "subject": tie.subject,
        "relation": tie.relation,
        "object": tie.object,
        "confidence": tie.confidence,
        "text": tie.text,
        "since": tie.since.isoformat(),
        "until": None if tie.until is None else tie.until.isoformat(),
        "memory": tie.memory or None,
        "rule": tie.rule or None,
        "premises": list(tie.premises),
    }


def as_graphml(picture: Picture) -> str:
    """GraphML, for Gephi, yEd, networkx, Cytoscape."""
    numbers = {e.name: f"n{i}" for i, e in enumerate(picture.entities)}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    for part, keys in (("node", _NODE_KEYS), ("edge", _EDGE_KEYS)):
        lines += [f'  <key id="{part}-{k}" for="{part}" attr.name="{k}" attr.type="{t}"/>' for k, t in keys.items()]
    lines.append('  <graph edgedefault="directed">')
    for entity in picture.entities:
        values = {
            "label": entity.name,
            "type": entity.type.value,
            "aliases": " | ".join(a.name for a in entity.aliases),
        }
        lines += [f'    <node id="{numbers[entity.name]}">', *_data("node", values), "    </node>"]
    for i, tie in enumerate(picture.ties):
        ends = f'source="{numbers[tie.subject]}" target="{numbers[tie.object]}"'
        values = {
            "relation": tie.relation, "text": tie.text, "confidence": str(tie.confidence),
            "since": tie.since.isoformat(), "until": "" if tie.until is None else tie.until.isoformat(),
            "memory": tie.memory, "rule": tie.rule, "premises": " ".join(tie.premises),
        }  # fmt: skip
        lines += [f'    <edge id="e{i}" {ends}>', *_data("edge", values), "    </edge>"]
    return "\n".join([*lines, "  </graph>", "</graphml>"]) + "\n"


def _data(part: str, values: Mapping[str, str]) -> list[str]:
    written = ((f"{part}-{key}", escape(_UNWRITABLE.sub("\ufffd", value))) for key, value in values.items() if value)
    return [f"      <data key={quoteattr(key)}>{value}</data>" for key, value in written]


def as_mermaid(picture: Picture) -> str:
    """A Mermaid flowchart, for Markdown pages. What is derived is dotted."""
    numbers = {e.name: f"n{i}" for i, e in enumerate(picture.entities)}
    lines = ["graph LR", *(f'  {numbers[e.name]}["{_quoted(e.name)}"]' for e in picture.entities)]
    for tie in picture.ties:
        arrow = f'-. "{tie.relation}" .->' if tie.rule else f'-- "{tie.relation}" -->'
        lines.append(f"  {numbers[tie.subject]} {arrow} {numbers[tie.object]}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Text as a label may hold it: Mermaid writes special signs as entities, by number."""
    return re.sub(r'["#<>&\[\]{}|`\\\n\r]', lambda m: f"#{ord(m.group())};", text)


FORMATS: Mapping[str, Callable[[Picture], str]] = {"graphml": as_graphml, "json": as_json, "mermaid": as_mermaid}


def written(picture: Picture, form: str) -> str:
    """The graph in one of the formats. Raises: InputError."""
    if form not in FORMATS:
        raise InputError(f"format {form!r}: choose one of {', '.join(FORMATS)}")
    return FORMATS[form](picture)
