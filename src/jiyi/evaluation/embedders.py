"""What is compared with jiyi embeds with jiyi's own embedders. Texts are capped and never empty: both local models take seconds
for a very long text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jiyi.ports import Embedder

if TYPE_CHECKING:  # Only who embeds needs numpy.
    from numpy import float32
    from numpy.typing import NDArray

CAP = 1000
"""Characters of a text that are embedded."""
_NOTHING = "."


def embedded(embedder: Embedder, texts: Sequence[str]) -> NDArray[float32]:
    """One vector of length one for each text, of shape (len(texts), dimension)."""
    return embedder.documents([text[:CAP].strip() or _NOTHING for text in texts])
