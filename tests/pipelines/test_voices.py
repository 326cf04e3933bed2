"""Whom a question names of those who speak."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.pipelines.recalling.voices import named_in
from jiyi.shipped import load_segmenter

SEGMENTER = load_segmenter()


@pytest.mark.parametrize(
    ("voices", "question", "named"),
    [
        (["Priya Nair", "Tom"], "what does priya like?", {"Priya Nair": "priya"}),
        (["Priya Nair", "Tom"], "what does priya nair like?", {"Priya Nair": "priya nair"}),
        (["Priya Nair", "Tom"], "what do tom and priya like?", {"Priya Nair": "priya", "Tom": "tom"}),
        (["Priya Nair", "Arjun Nair"], "what does nair like?", {}),
        (["Priya Nair", "Priya"], "what does priya like?", {"Priya": "priya"}),
        (["Will Baker", "Tom"], "will he come?", {}),
        (["Priya Nair"], "what does priyanka like?", {}),
        (["林晓彤", "赵一凡"], "晓彤喜欢什么？", {"林晓彤": "晓彤"}),
        (["林晓彤", "陈晓彤"], "晓彤喜欢什么？", {}),
        (["欧阳晓彤"], "晓彤喜欢什么？", {"欧阳晓彤": "晓彤"}),
        (["林彤"], "彤喜欢什么？", {}),
        (["user", "assistant"], "what did the assistant say?", {"assistant": "assistant"}),
    ],
)
def test_named_by_what_they_are_called(voices: list[str], question: str, named: dict[str, str]) -> None:
    assert named_in(voices, question, SEGMENTER) == named


@given(st.lists(st.text(min_size=1, max_size=12), max_size=4), st.text(max_size=40))
def test_what_names_a_voice_always_stands_in_the_question(voices: list[str], question: str) -> None:
    folded = SEGMENTER.fold(question)
    assert all(name in folded for name in named_in(voices, folded, SEGMENTER).values())
