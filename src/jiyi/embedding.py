"""The port of embedding models (SPEC R11): what turns texts into vectors. The index that holds them is a part of `ports.Unit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

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
