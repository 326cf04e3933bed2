"""A3's five schemes and jiyi: what each hands over, on talk whose outcome can be told beforehand, and the shipped test."""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.domain.tokens import estimate_tokens
from jiyi.embedders import open_local
from jiyi.errors import SettingsError
from jiyi.evaluation.embedders import embedded
from jiyi.evaluation.labelled import read_sets
from jiyi.evaluation.peers import ONE_THREAD, one_thread
from jiyi.evaluation.schemes.comparison import (
    BETWEEN,
    ROUNDS,
    SITUATIONS,
    WAYS,
    compare_schemes,
    open_schemes,
    schemes_table,
    situations,
    trials_of,
)
from jiyi.evaluation.schemes.plain import Hybrid, JsonFacts, StuffEverything, SummaryChain, VectorsOnly
from jiyi.testing.embedders import ByCharacters
from jiyi.text.segmentation import Segmenter
from tests.surfaces.cli import Cli, lines

NOW = datetime(2026, 3, 9, tzinfo=UTC)


def said(*texts: str, role: Role = Role.USER) -> list[IncomingMessage]:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    return [IncomingMessage(f"t{n}", "s1", role, text, start + timedelta(minutes=n)) for n, text in enumerate(texts)]


TALK = ("The port is 2207.", "Soup tastes best with salt.", "Larks sing early.", "Snow fell on the hill.")


def test_stuffing_keeps_the_newest_that_fits() -> None:
    window = sum(estimate_tokens(f"[2026-03-01] user: {text}\n") for text in TALK[2:])
    scheme = StuffEverything(window)
    scheme.hear(said(*TALK))
    handed = scheme.hand("Which port?", NOW)
    assert handed.ids == {"t2", "t3"}
    assert handed.tokens <= window
    assert "Larks" in handed.text
    everything = StuffEverything(window=0)
    everything.hear(said(*TALK))
    assert everything.hand("Which port?", NOW).ids == {"t0", "t1", "t2", "t3"}


def test_vectors_hand_over_the_three_nearest() -> None:
    scheme = VectorsOnly(ByCharacters())
    scheme.hear(said(*TALK))
    handed = scheme.hand("The port is 2207?", NOW)
    assert len(handed.ids) == 3
    assert "t0" in handed.ids
    assert handed.text.startswith("[2026-03-01] user: The port is 2207.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The port is 2207.", "- port: 2207"),
        ("My sister's name is Odile.", "- sister's name: Odile"),
        ("登录端口改成 2207 了。", "- 登录端口: 2207 了"),
        ("Is the port 2207?", ""),
        ("登录端口是多少？", ""),
        ("Nothing to note here", ""),
    ],
)
def test_facts_are_keys_with_values(text: str, expected: str) -> None:
    scheme = JsonFacts()
    scheme.hear(said(text))
    assert scheme.hand("?", NOW).text == expected


def test_a_later_fact_takes_the_place_of_an_earlier_one_and_only_the_user_states_any() -> None:
    scheme = JsonFacts()
    scheme.hear(said("The port is 2207.", "The port is 2208."))
    scheme.hear(said("The moon is green.", role=Role.ASSISTANT))
    handed = scheme.hand("?", NOW)
    assert handed.text == "- port: 2208"
    assert handed.ids == {"t1"}


def test_a_summary_chain_keeps_three_sentences_and_what_is_not_summarised_yet() -> None:
    scheme = SummaryChain()
    common = [f"The garden needs water and the garden needs sun {n}." for n in range(5)]
    scheme.hear(said("My port is 2207.", *common))
    handed = scheme.hand("Which port?", NOW)
    assert len(handed.ids) == 3
    assert "2207" not in handed.text  # it drifts: the rare sentence goes first
    scheme.hear(said("And now something new."))
    assert "something new" in scheme.hand("Which port?", NOW).text


def test_the_hybrid_hands_over_facts_and_the_nearest_turns() -> None:
    scheme = Hybrid(ByCharacters())
    scheme.hear(said("The port is 2207.", "Larks sing early.", "Snow fell.", "Rain fell.", "Hail fell."))
    handed = scheme.hand("What fell?", NOW)
    assert "- port: 2207" in handed.text
    assert "Snow fell." in handed.text
    assert {"t0", "t2", "t3", "t4"} == handed.ids


# ------------------------------------------------------------------ the shipped test


def situation_rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tomllib.loads(SITUATIONS.read_text("utf-8"))["situation"]
    return rows


def test_there_are_situations_enough_in_both_languages() -> None:
    rows = situation_rows()
    assert Counter(r["id"][:2] for r in rows) == {"zh": 28, "en": 28}
    assert len({r["id"] for r in rows}) == len(rows) >= 50
    assert all(len(r["ask"]) == len(WAYS) for r in rows)


def test_what_is_looked_for_is_said_once_and_nowhere_else() -> None:
    rounds = tomllib.loads(ROUNDS.read_text("utf-8"))
    for row in situation_rows():
        others = [part for r in rounds[row["id"][:2]] for part in r.values()] + row["ask"]
        for wanted in map(Segmenter.fold, row["holds"].split("|")):
            assert wanted in Segmenter.fold(row["says"]), row["id"]
            assert not [text for text in others if wanted in Segmenter.fold(text)], row["id"]


def test_a_trial_is_told_in_the_first_round_and_asked_in_the_fifteenth() -> None:
    for trial, row in zip(situations(), situation_rows(), strict=True):
        told = [m for batch in trial.batches for m in batch]
        assert len(told) == 2 * (BETWEEN + 1)
        assert told[0].text == row["says"]
        assert [m.role for m in told] == [Role.USER, Role.ASSISTANT] * (BETWEEN + 1)
        assert len({m.session for m in told}) == 3
        assert [p.text for p in trial.probes] == row["ask"]
        assert all(p.at > told[-1].at for p in trial.probes)
    assert situations()[0].batches == situations()[0].batches
    assert situations(seed=2)[0].batches != situations()[0].batches


def test_schemes_are_compared_by_what_they_hand_over() -> None:
    trials = [t for t in situations() if "2207" in t.batches[0][0].text]
    openers = open_schemes({}, ByCharacters())
    assert list(openers) == [
        "stuff everything", "vectors only", "JSON facts", "summary chain", "hybrid", "jiyi",
    ]  # fmt: skip
    [tallies] = compare_schemes(trials, openers).values()
    assert tallies["stuff everything"].share == 0.0  # thirteen rounds fill the window of 4,096 tokens
    assert tallies["JSON facts"].share == 1.0
    assert tallies["jiyi"].held["word for word"] == [True]
    assert all(t.questions == 3 and t.turns == 28 for t in tallies.values())
    assert tallies["stuff everything"].data()["tokens_p95"] > 3000
    table = schemes_table({"A3's test": tallies})
    assert "| JSON facts | 100.0% | 100.0% | 100.0% | 100.0% |" in table


def test_questions_of_a_labelled_set_look_for_one_of_the_gold_turns(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    told = [{"id": f"t{n}", "text": t, "at": f"2026-03-01T09:0{n}:00Z"} for n, t in enumerate(TALK)]
    asked = [{"question": "Which port?", "evidence": ["t0", "t1"]}, {"question": "Who sings?", "evidence": ["t3"]}]
    path.write_text(lines(*told, *asked), "utf-8")
    trials = trials_of(read_sets([str(path)], None)[0])
    window = sum(estimate_tokens(f"[2026-03-01] user: {text}\n") for text in TALK[1:])
    [found] = compare_schemes(trials, {"stuff everything": lambda _: StuffEverything(window)}).values()
    assert found["stuff everything"].held["question"] == [True, True]  # t1 and t3 fit, t0 does not
    [found] = compare_schemes(trials, {"stuff everything": lambda _: StuffEverything(1)}).values()
    assert found["stuff everything"].held["question"] == [False, False]


def test_without_an_embedder_the_schemes_that_need_one_are_left_out() -> None:
    assert list(open_schemes({}, None)) == ["stuff everything", "JSON facts", "summary chain", "jiyi"]
    with pytest.raises(SettingsError, match="glove"):
        open_local("glove")


@pytest.fixture
def one_situation(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "mine.jsonl"
    told = [{"id": f"t{n}", "text": t, "at": f"2026-03-01T09:0{n}:00Z"} for n, t in enumerate(TALK)]
    path.write_text(lines(*told, {"question": "Which port?", "evidence": ["t0"]}), "utf-8")
    return path


def test_the_command(jiyi: Cli, one_situation: Path) -> None:
    options = ("eval", "schemes", "--set", str(one_situation), "--embedder", "none")
    printed = jiyi(*options).stdout
    assert "## mine: 1 questions" in printed
    assert "| jiyi | 100.0% |" in printed
    assert "vectors only" not in printed
    assert jiyi.json(*options)["mine"]["jiyi"]["held"] == 1.0
    assert "embedder = 'x'" in jiyi(*options[:-1], "x", code=1).stderr


# ------------------------------------------------------------------ embedders


@pytest.mark.parametrize("name", ["use", "e5"])
def test_texts_to_compare_are_capped_and_never_empty(name: str) -> None:
    embedder = open_local(name)
    texts = ["The port is 2207.", "端口是 2207。", "", "x" * 5000]
    vectors = embedded(embedder, texts)
    assert vectors.shape == (len(texts), embedder.dimension)
    assert [float(v @ v) for v in vectors] == pytest.approx([1.0] * len(texts), abs=1e-3)
    [again] = embedded(embedder, texts[:1])
    assert float(again @ vectors[0]) > 0.999  # alone as in a batch


def test_the_threads_of_others_are_left_alone() -> None:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    with one_thread():
        assert {name: os.environ[name] for name in ONE_THREAD} == ONE_THREAD
    assert {name: os.environ.get(name) for name in ONE_THREAD} == before
