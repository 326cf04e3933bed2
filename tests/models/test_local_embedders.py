"""The embedding models that come inside packages, with their guards (SPEC R11)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from jiyi.assembly import open_memory
from jiyi.errors import SettingsError
from jiyi.models.local import NAMES, local_embedder
from tests.conftest import Clock

TEXTS = ["我每天骑自行车上下班", "The cat sleeps on the warm stove", "缓存换成了单独的一台机器", "a"]
DIMENSIONS = {"use": 512, "e5": 384, "both": 896}


@pytest.mark.parametrize("name", NAMES)
def test_vectors_have_unit_length_and_do_not_depend_on_the_batch(name: str) -> None:
    embedder = local_embedder(name)
    found = embedder.documents(TEXTS)
    assert (found.shape, found.dtype, embedder.dimension) == ((4, DIMENSIONS[name]), np.float32, DIMENSIONS[name])
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)
    assert np.allclose(embedder.query(TEXTS[1]), found[1], atol=1e-3)
    assert embedder.documents([]).shape == (0, DIMENSIONS[name])


@pytest.mark.parametrize("name", NAMES)
def test_traditional_characters_are_read_as_simplified(name: str) -> None:
    embedder = local_embedder(name)
    one, other = embedder.documents(["緩存換成了單獨的一臺機器", "缓存换成了单独的一台机器"])
    assert float(one @ other) > 0.99


@pytest.mark.parametrize("name", NAMES)
def test_hostile_texts_give_a_direction(name: str) -> None:
    embedder = local_embedder(name)
    found = embedder.documents(["a\0b", "\ud800 half", "🎉", "\u200f1", "x" * 600])
    assert np.isfinite(found).all()
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)


def test_meaning_is_found_across_languages() -> None:
    embedder = local_embedder("both")
    pool = embedder.documents(TEXTS)
    assert int(np.argmax(pool @ embedder.query("how does the user commute"))) == 0
    assert int(np.argmax(pool @ embedder.query("猫在哪里睡觉"))) == 1


def test_loading_leaves_the_environment_as_it_was() -> None:
    before = dict(os.environ)
    local_embedder("e5").query("hello")
    assert dict(os.environ) == before


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(SettingsError, match="use, e5, both"):
        local_embedder("bert")


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
