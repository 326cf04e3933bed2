"""Whom a question names of those who speak."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.fusion import FusionPolicy
from jiyi.pipelines.recalling.question import QuestionReader, without_names
from jiyi.pipelines.recalling.voices import named_in
from jiyi.shipped import (
    load_announcements,
    load_relevance,
    load_segmenter,
    load_synonyms,
    load_times,
    load_voice,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SEGMENTER = load_segmenter()
NAMES = load_relevance(SEGMENTER).names
READ = QuestionReader(
    SEGMENTER, load_synonyms(SEGMENTER), load_announcements(), load_times(), FusionPolicy(), load_voice()
)


@pytest.mark.parametrize(
    ("voices", "question", "named"),
    [
        (["Priya Nair", "Tom"], "What does Priya like?", {"Priya Nair": "Priya"}),
        (["Priya Nair", "Tom"], "What is Priya's cat called?", {"Priya Nair": "Priya"}),
        (["Priya Nair", "Tom"], "Priya喜欢什么？", {"Priya Nair": "Priya"}),
        (["Priya Nair", "Tom"], "what does priya nair like?", {"Priya Nair": "priya nair"}),
        (["Priya Nair", "Tom"], "What do Tom and Priya like?", {"Priya Nair": "Priya", "Tom": "tom"}),
        (["Priya Nair", "Arjun Nair"], "What does Nair like?", {}),
        (["Priya Nair", "Priya"], "What does Priya like?", {"Priya": "priya"}),
        (["Will Baker", "Tom"], "Will he come?", {}),
        (["Priya Nair"], "What does Priyanka like?", {}),
        (["Jan van Dyke"], "Where did we park the van?", {}),
        (["Jan Van Dyke"], "Did Van like it?", {"Jan Van Dyke": "Van"}),
        (["Annie Hall"], "How long is the hall?", {}),
        (["Annie Hall"], "Did Hall like it?", {"Annie Hall": "Hall"}),
        (["Emma Stone"], "Who built the stone wall?", {}),
        (["Emma Stone"], "WHO BUILT THE STONE WALL?", {}),
        (["Emma Stone"], "What did Stone build?", {"Emma Stone": "Stone"}),
        (["April Young"], "What did we do in April?", {}),
        (["April Young"], "What did April like?", {}),
        (["May Chen"], "May we go in May?", {}),
        (["Jan Novak"], "What happened on 5 Jan?", {}),
        (["Mon Roy"], "Is it on Mon?", {}),
        (["Summer Hayes"], "What did we do last Summer?", {}),
        (["Summer Hayes"], "What did Summer do?", {"Summer Hayes": "Summer"}),
        (["林晓彤", "赵一凡"], "晓彤喜欢什么？", {"林晓彤": "晓彤"}),
        (["林 晓彤", "赵一凡"], "晓彤喜欢什么？", {"林 晓彤": "晓彤"}),
        (["林晓彤", "陈晓彤"], "晓彤喜欢什么？", {}),
        (["欧阳晓彤"], "晓彤喜欢什么？", {"欧阳晓彤": "晓彤"}),
        (["林彤"], "彤喜欢什么？", {}),
        (["系统消息"], "消息是什么？", {}),
        (["方消息"], "消息是什么？", {}),
        (["李昨天"], "昨天吃了什么？", {}),
        (["小晓彤"], "晓彤喜欢什么？", {}),
        (["user", "assistant"], "What did the assistant say?", {"assistant": "assistant"}),
    ],
)
def test_named_by_what_they_are_called(voices: list[str], question: str, named: dict[str, str]) -> None:
    assert names_of(voices, question) == named


def names_of(voices: list[str], question: str) -> dict[str, str]:
    read = READ(question, NOW)
    return named_in(voices, read.folded, read.untimed, SEGMENTER, NAMES)


@given(st.lists(st.text(min_size=1, max_size=12), max_size=4), st.text(max_size=40))
def test_what_names_a_voice_always_stands_in_the_question(voices: list[str], question: str) -> None:
    folded = SEGMENTER.fold(question)
    assert all(SEGMENTER.fold(name) in folded for name in named_in(voices, folded, question, SEGMENTER, NAMES).values())


@pytest.mark.parametrize(
    ("question", "names", "left"),
    [
        ("Where is the van that Van Dyke's sister bought?", ["Van"], "Where is the van that Dyke's sister bought?"),
        ("Where is Priya's cat? priya's?", ["priya"], "Where is cat? ?"),
        ("晓彤的猫呢？", ["晓彤"], "的猫呢？"),
    ],
)
def test_a_name_is_taken_out_where_it_names(question: str, names: list[str], left: str) -> None:
    assert without_names(question, names) == left
