"""The embedding models that come inside packages, with their guards (SPEC R11)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.assembly import open_memory
from jiyi.embedders import LOCAL, open_local
from jiyi.errors import SettingsError
from jiyi.models.english import WordPieces, minilm
from tests.conftest import Clock

TEXTS = ["我每天骑自行车上下班", "The cat sleeps on the warm stove", "缓存换成了单独的一台机器", "a"]
DIMENSIONS = {"use": 512, "e5": 384, "both": 896, "all": 1280}


@pytest.mark.parametrize("name", LOCAL)
def test_vectors_have_unit_length_and_do_not_depend_on_the_batch(name: str) -> None:
    embedder = open_local(name)
    found = embedder.documents(TEXTS)
    assert (found.shape, found.dtype, embedder.dimension) == ((4, DIMENSIONS[name]), np.float32, DIMENSIONS[name])
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)
    assert np.allclose([embedder.documents([text])[0] for text in TEXTS], found, atol=1e-3)
    asked = embedder.query("where is the cat")
    assert (asked.shape, int(np.argmax(found @ asked))) == ((DIMENSIONS[name],), 1)
    assert embedder.documents([]).shape == (0, DIMENSIONS[name])


@pytest.mark.parametrize("name", LOCAL)
def test_traditional_characters_are_read_as_simplified(name: str) -> None:
    embedder = open_local(name)
    one, other = embedder.documents(["緩存換成了單獨的一臺機器", "缓存换成了单独的一台机器"])
    assert float(one @ other) > 0.99


@pytest.mark.parametrize("name", LOCAL)
def test_hostile_texts_give_a_direction(name: str) -> None:
    embedder = open_local(name)
    found = embedder.documents(["a\0b", "\ud800 half", "🎉", "\u200f1", "x" * 600])
    assert np.isfinite(found).all()
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("name", ["both", "all"])
def test_meaning_is_found_across_languages(name: str) -> None:
    embedder = open_local(name)
    pool = embedder.documents(TEXTS)
    assert int(np.argmax(pool @ embedder.query("how does the user commute"))) == 0
    assert int(np.argmax(pool @ embedder.query("猫在哪里睡觉"))) == 1


def test_english_has_a_model_of_its_own() -> None:
    question, pool = (
        "is the man expecting a child",
        ["My wife is pregnant", "The man has a grown child", "小王有个孩子"],
    )
    found = {name: open_local(name).documents(pool) @ open_local(name).query(question) for name in ("both", "all")}
    # It counts where both sides are English; to it, all that is Chinese is equally far, so their order is that of `both`.
    assert found["all"][0] - found["all"][2] > found["both"][0] - found["both"][2]
    asked = "谁有孩子"
    ranks = [np.argsort(open_local(n).documents(TEXTS) @ open_local(n).query(asked)).tolist() for n in ("both", "all")]
    assert ranks[0] == ranks[1]


VOCABULARY = {
    p: n for n, p in enumerate(["[CLS]", "[SEP]", "[UNK]", "cafe", "un", "##known", "!", "#", "猫", "a", "##a"])
}


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Café!", ["cafe", "!"]),
        ("unknown", ["un", "##known"]),
        ("una a\x00a", ["un", "##a", "a", "##a"]),
        ("##猫a", ["#", "#", "猫", "a"]),
        ("a🎉 a", ["[UNK]", "a"]),  # a piece of it is unknown, so all of it is
        ("a" * 101, ["[UNK]"]),
        ("a " * 300, ["a"] * 254),
        ("", []),
    ],
)
def test_pieces_of_words(text: str, pieces: list[str]) -> None:
    assert WordPieces(VOCABULARY)(text) == [VOCABULARY[p] for p in ("[CLS]", *pieces, "[SEP]")]


@given(st.text(max_size=300))
def test_any_text_has_pieces(text: str) -> None:
    found = WordPieces(VOCABULARY)(text)
    assert found[0] == VOCABULARY["[CLS]"]
    assert 2 <= len(found) <= 256


def test_the_model_for_english_tells_meanings_apart() -> None:
    sofa, couch, tax = (minilm(text) for text in ("She sat on the sofa", "She was on the couch", "Taxes rose in May"))
    assert float(sofa @ couch) > 0.6 > 0.3 > float(sofa @ tax)


def test_loading_leaves_the_environment_as_it_was() -> None:
    before = dict(os.environ)
    open_local("e5").query("hello")
    assert dict(os.environ) == before


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(SettingsError, match="use, e5, both or all"):
        open_local("bert")


def test_a_memory_with_an_embedder_finds_by_meaning_and_changes_its_model_by_a_setting(
    tmp_path: Path, clock: Clock
) -> None:
    path = tmp_path / "memory.db"
    asked = {"query": "how does the user get to work", "kinds": {"message"}}
    with open_memory(path, clock=clock, worker=False, embedder="use") as layer:
        me = layer.scope("u1")
        me.observe([{"role": "user", "text": text} for text in TEXTS[:3]], session="s1")
        assert me.recall(**asked).items == ()
        layer.work()
        assert me.recall(**asked).items[0].text == TEXTS[0]
    with open_memory(path, clock=clock, worker=False, embedder="e5") as layer:
        # The former model is opened again by what the database remembers of it.
        assert "near in meaning" in layer.scope("u1").recall(**asked).items[0].why
        [line] = [c.detail for c in layer.check() if c.name == "vectors"]
        assert "still by local/use-multilingual-3" in line
        layer.work()
        [line] = [c.detail for c in layer.check() if c.name == "vectors"]
        assert line.startswith("local/e5-small-q4, ")
        assert "everything is embedded" in line
