"""Other words for what a question asks (SPEC R7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import SettingsError
from jiyi.shipped import load_segmenter, load_synonyms, read_dictionary
from jiyi.text.query_reading import Announcements, Isolated, quoted
from jiyi.text.synonyms import Synonyms, parse_synonyms

SEGMENTER = load_segmenter()
GROUPS = {
    "zh": {"same": [["面条", "拉面"], ["手工", "亲手"]], "near": [["面条", "晚饭"]]},
    "en": {"same": [["swim", "swam"]]},
}


def wider(question: str, same: float = 0.5, near: float = 0.2, limit: int = 9) -> dict[str, float]:
    synonyms = Synonyms(parse_synonyms(GROUPS, "mine.toml"), SEGMENTER)
    return {w.term.text: w.share for w in synonyms.wider(SEGMENTER.query_terms(question), same, near, limit)}


def test_words_of_a_group_widen_each_other() -> None:
    assert wider("哪家面条好") == {"拉面": 0.5, "晚饭": 0.2}
    assert wider("哪家拉麵好") == {"面条": 0.5}
    assert wider("Who swims?") == {"swam": 0.5}
    assert wider("who cooked") == {}


def test_what_is_asked_for_is_not_widened_to_again() -> None:
    assert wider("面条还是拉面") == {"晚饭": 0.2}


def test_a_share_of_nothing_and_a_limit() -> None:
    assert wider("面条", near=0) == {"拉面": 0.5}
    assert wider("面条", limit=1) == {"拉面": 0.5}
    assert wider("面条", same=0, near=0) == {}


@pytest.mark.parametrize(
    "data",
    [{"zh": [["a", "b"]]}, {"zh": {"other": [["a", "b"]]}}, {"zh": {"same": [["a"]]}}, {"zh": {"same": "ab"}}, {"en": {"near": [[1, 2]]}}],
)  # fmt: skip
def test_a_file_of_another_shape_is_refused(data: Any) -> None:
    with pytest.raises(SettingsError, match=r"mine\.toml"):
        parse_synonyms(data, "mine.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[fr]\nsame = [["maman", "mama"]]', r"\[fr\] is no table of it: put the groups under \[zh\] or \[en\]"),
        ('[en]\nsame = [["car", "auto"], ["job"]]', r"\[en\] same, group 2 .* a list of two words or more"),
        ('[en]\nsame = [["car", "Car "]]', "group 1 .* holds a word twice"),
        ('[en]\nnear = [["car", " "]]', "group 1 .* ' ' would never be looked for"),
        ('[en]\nsame = [["the", "car"]]', "'the' would never be looked for.* leave it out"),
        ('[zh]\nsame = [["汽车", "的"]]', "'的' would never be looked for.*`dictionary`"),
    ],
)
def test_a_bad_entry_of_ones_own_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(SettingsError, match=rf"mine\.toml: .*{said}"):
        load_synonyms(SEGMENTER, str(file))


def test_a_file_of_ones_own_is_read_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    for other in ("sloop", "ketch"):
        file.write_text(f'[en]\nsame = [["boat", "{other}"]]', "utf-8")
        wider = load_synonyms(SEGMENTER, str(file)).wider(SEGMENTER.query_terms("boat"), 0.5, 0.0, 9)
        assert [w.term.text for w in wider] == [other]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# mine\n清风词法\n云梯 5 n\n", "line 3: '云梯 5 n': write one word a line.*: 云梯"),
        ("清风词法\n---\n", "line 2: '---' is no word"),
        (f"{'长' * 70}\n", "line 1: .* has 70 characters"),
    ],
)
def test_a_bad_line_of_a_dictionary_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "words.txt"
    file.write_text(text, "utf-8")
    with pytest.raises(SettingsError, match=rf"words\.txt, {said}"):
        read_dictionary(str(file))


def test_stop_words_of_ones_own_are_checked_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "stops.toml"
    file.write_text('[functions]\nen = ["the"]', "utf-8")
    with pytest.raises(SettingsError, match=r"stops\.toml: \[functions\] is no table of it"):
        load_segmenter(stop_words=str(file))
    file.write_text('[function]\nen = ["the", ""]', "utf-8")
    with pytest.raises(SettingsError, match=r"stops\.toml: \[function\] en holds ''"):
        load_segmenter(stop_words=str(file))
    for word in ("boat", "sail"):
        file.write_text(f'[function]\nen = ["{word}"]', "utf-8")
        terms = load_segmenter(stop_words=str(file)).query_terms("boat sail")
        assert [t.text for t in terms if t.stop] == [word]


def test_every_shipped_word_can_be_found_by_a_question() -> None:
    # Stop words have no place in the groups: a question drops them.
    assert load_synonyms(SEGMENTER).wider(SEGMENTER.query_terms("mother"), 0.5, 0.0, 9)


ANNOUNCEMENTS = Announcements(["我想问的是", "my question is"])


@pytest.mark.parametrize(
    ("message", "core"),
    [
        ("今天好热。昨天看了电影。对了，我的护照放在哪里？", "对了，我的护照放在哪里？"),
        ("今天好热。昨天看了电影。其实我想问的是，护照放在哪里？", "，护照放在哪里？"),
        ("It rained. We stayed in. So, My question is where my passport is? Thanks!", " where my passport is?"),
        # Two sentences are a question with its circumstances; a message that asks nothing is meant as a whole.
        ("我明天出差。护照放在哪里？", "我明天出差。护照放在哪里？"),
        ("It rained. We stayed in. I read.", "It rained. We stayed in. I read."),
        ("护照放在哪里？今天好热。昨天看了电影。", "护照放在哪里？今天好热。昨天看了电影。"),
        ("", ""),
    ],
)
def test_the_question_in_a_longer_message(message: str, core: str) -> None:
    isolated = ANNOUNCEMENTS.isolate(message)
    assert isolated.core == core
    assert sorted(isolated.core + isolated.rest) == sorted(message) or isolated == Isolated(message)


def test_a_message_of_many_questions_is_asked_as_one() -> None:
    assert ANNOUNCEMENTS.isolate("Who goes? Who pays?").parts == ("Who goes?", " Who pays?")
    assert len(ANNOUNCEMENTS.isolate("我想问的是谁去？" * 4).parts) == 4
    assert ANNOUNCEMENTS.isolate("我想问的是谁去？" * 500).parts == ()


def test_quotations() -> None:
    assert quoted('他说“先吃饭”，又说 "eat first" 和《红楼梦》里的 `make dev`') == (
        "先吃饭",
        "eat first",
        "红楼梦",
        "make dev",
    )
    assert quoted("it's 5\" long, isn't it") == ()
