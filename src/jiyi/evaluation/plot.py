"""Bars of a run as an SVG of our own: no library draws it, and any browser shows it."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from jiyi.evaluation.retrieval import Result
from jiyi.evaluation.retrieval_report import floor_of

_LEFT, _WIDE, _RIGHT = 190, 520, 60
_BAR, _GAP, _TOP = 18, 16, 40
_COLOURS = ("#1f6f5c", "#8a8f98", "#b9bdc4", "#c98a3a", "#8b6fb0", "#d0697a")
_FLOOR = "#b3261e"


def bars(results: Sequence[Result], measure: str = "R@10") -> str:
    """One group of bars for each set, one bar for each contender; a red line is the lowest that is wanted.

    Returns:
        The text of an SVG file.
    """
    contenders = list(dict.fromkeys(r.contender for r in results))
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(contenders)}
    parts: list[str] = []
    y = _TOP
    for name in dict.fromkeys(r.dataset for r in results):
        group = [r for r in results if r.dataset == name]
        top = y
        for result in group:
            parts += _bar(result, result.overall()[measure], y, colours[result.contender])
            y += _BAR
        floor = next((f for r in group if r.contender == "jiyi" and (f := floor_of(r)) is not None), None)
        wanted = None if floor is None else floor.all if floor.all is not None else floor.text
        if wanted is not None:
            x = _LEFT + wanted * _WIDE
            parts.append(
                f'<line x1="{x:.1f}" y1="{top - 3}" x2="{x:.1f}" y2="{y + 1}" stroke="{_FLOOR}" stroke-width="2"/>'
            )
        y += _GAP
    width, height = _LEFT + _WIDE + _RIGHT, y + 10
    title = f"{measure}, mean over questions; red: what is wanted at least"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="10" y="22" font-size="14">{escape(title)}</text>',
        *_scale(y),
        *parts,
        "</svg>",
        "",
    ])  # fmt: skip


def _bar(result: Result, value: float, y: int, colour: str) -> list[str]:
    width = value * _WIDE
    label = escape(f"{result.dataset} · {result.contender}")
    return [
        f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{label}</text>',
        f'<rect x="{_LEFT}" y="{y + 2}" width="{width:.1f}" height="{_BAR - 4}" fill="{colour}"/>',
        f'<text x="{_LEFT + width + 5:.1f}" y="{y + 13}">{value:.3f}</text>',
    ]


def _scale(bottom: int) -> list[str]:
    lines = []
    for tenth in range(0, 11, 2):
        x = _LEFT + tenth / 10 * _WIDE
        lines.append(f'<line x1="{x:.1f}" y1="{_TOP - 6}" x2="{x:.1f}" y2="{bottom - _GAP + 4}" stroke="#e3e5e8"/>')
        lines.append(
            f'<text x="{x:.1f}" y="{_TOP - 8}" text-anchor="middle" fill="#777" font-size="10">{tenth / 10:.1f}</text>'
        )
    return lines
