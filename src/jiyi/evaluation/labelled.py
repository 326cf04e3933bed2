"""Which sets of labelled conversations there are, and reading the chosen ones (SPEC R12). None of them is part of jiyi."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from zoneinfo import ZoneInfo

from jiyi.errors import InputError
from jiyi.evaluation.datasets import locomo
from jiyi.evaluation.datasets.records import DataSet
from jiyi.evaluation.harness import TIMEZONE

ZONE = ZoneInfo(TIMEZONE)


@dataclass(frozen=True, slots=True)
class Choice:
    """What to read.

    Args:
        data: the folder that holds one folder for each set.
        half: dev or heldout, where file names tell.
        limit: conversations of a set (MemDaily: of each of its files), the first ones; 0: all.
        pictures: keep captions of shared pictures in the text.
    """

    data: Path
    half: str = "dev"
    limit: int = 0
    pictures: bool = True


def _locomo(choice: Choice) -> DataSet:
    return locomo.read_set(choice.data / "locomo", choice.half, ZONE, pictures=choice.pictures, limit=choice.limit)


READERS: Mapping[str, Callable[[Choice], DataSet]] = MappingProxyType({"locomo": _locomo})
SETS = tuple(READERS)


def read_sets(names: Sequence[str], choice: Choice) -> list[DataSet]:
    """The chosen sets.

    Raises:
        InputError: an unknown set, or no such files. UnreadableFile: a file of another shape, with its line.
    """
    if unknown := sorted(set(names) - set(SETS)):
        raise InputError(f"no set {', '.join(unknown)}: choose from {', '.join(SETS)}")
    return [READERS[name](choice) for name in names]
