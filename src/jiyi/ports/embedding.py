"""The ports around vectors (SPEC R11): what turns texts into them, and an engine beside the database that finds the nearest.
The index that holds them is a part of `ports.Unit`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from jiyi.domain.vectors import Vector

if TYPE_CHECKING:  # Only who embeds needs numpy.
    from numpy import float32
    from numpy.typing import NDArray


class Meter(Protocol):
    """Counts what an embedder that costs something uses."""

    def check(self, tokens: int) -> None:
        """Raises: SpendingLimitReached when so many tokens more would be too many."""

    def documents(self, tokens: int, seconds: float, outcome: str = "ok") -> None:
        """A batch was embedded, or was not, which `outcome` tells."""

    def query(self, tokens: int, seconds: float) -> None:
        """A question was embedded."""

    def flush(self) -> None:
        """Write what has gathered."""


class Embedder(Protocol):
    """An embedding model. May be used by several threads; the same text always gives the same direction."""

    @property
    def name(self) -> str:
        """Provider, model and way of use, such as `local/use-multilingual-3`: vectors of another name are never compared.
        No key in it."""

    @property
    def dimension(self) -> int:
        """Numbers of a vector. An endpoint may have to be asked first.

        Raises:
            ModelError: it could not be asked.
        """

    def documents(self, texts: Sequence[str]) -> NDArray[float32]:
        """Vectors of texts to be found, of shape (len(texts), dimension) and unit length. Texts hold a letter at least.

        Raises:
            ModelUnavailable: not now. ModelRefused: not later either. Both say what to do.
        """

    def query(self, text: str) -> NDArray[float32]:
        """The vector of what is looked for, of shape (dimension,) and unit length. Raises what `documents` does, sooner."""

    def close(self) -> None:
        """Let go of connections. Closing twice is fine."""


@runtime_checkable
class Discerning(Protocol):
    """An embedder that can tell what a question is about: anybody's world, or the asker's own life and work."""

    def sides(self) -> tuple[NDArray[float32], NDArray[float32]]:
        """What questions of the world have in common, and what those of the asker's own have: two directions that `query` is
        compared with. May take a second."""


class VectorEngine(Protocol):
    """Finds the nearest vectors, outside the database and its transactions. It follows the database, which keeps the vectors
    as well: what it finds is looked at again there, and without it everything is looked at.

    Every method raises `EngineUnavailable` when the engine does not answer.
    """

    @property
    def name(self) -> str:
        """What it is and where, for people."""

    def put(self, collection: str, vectors: Mapping[int, Vector]) -> None:
        """Hold these, each in the place of the one of its number. The collection is made when there is none."""

    def remove(self, collection: str, seqs: Collection[int]) -> None:
        """Let go of these; what is not there changes nothing."""

    def near(self, collection: str, query: Vector, limit: int) -> dict[int, Vector]:
        """Some of the nearest, `limit` at the most, as they were put. An engine may miss a few."""

    def marks(self, collection: str) -> dict[int, int]:
        """A number that tells one vector from another, `mark_of`, for each that is held."""

    def drop(self, collection: str) -> None:
        """Let go of a whole collection; nothing happens when there is none."""

    def collections(self, prefix: str) -> list[str]:
        """Those whose name begins so."""

    def token(self, prefix: str) -> str:
        """What `set_token` said last, empty at first: how far the engine has followed."""

    def set_token(self, prefix: str, token: str) -> None: ...

    def purge(self) -> None:
        """Leave no byte of what went, where the engine's files are ours."""

    def close(self) -> None: ...
