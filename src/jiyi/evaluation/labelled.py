"""Which sets of labelled conversations there are, and reading the chosen ones (SPEC R12). None of them is part of jiyi."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from zoneinfo import ZoneInfo

from jiyi.errors import InputError
from jiyi.evaluation.datasets import locomo, longmemeval, madial, memdaily, own, realmem, realtalk
from jiyi.evaluation.datasets.files import measuring
from jiyi.evaluation.datasets.records import DataSet
from jiyi.evaluation.harness import TIMEZONE

ZONE = ZoneInfo(TIMEZONE)
MEMDAILY_FIRST = 8
"""Trajectories of each of its 26 files that are asked about by default."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What to read.

    Args:
        data: the folder that holds one folder for each set.
        half: dev or heldout, where file names tell.
        limit: conversations of a set (MemDaily: of each of its files; MADial: dialogues), the first ones; 0: all. By default
            all, and 8 of each file of MemDaily.
        noise: unrelated turns around a trajectory of MemDaily.
        pictures: keep captions of shared pictures in the text.
    """

    data: Path
    half: str = "dev"
    limit: int | None = None
    noise: int = memdaily.NOISE
    pictures: bool = True

    @property
    def first(self) -> int:
        return self.limit or 0


def _locomo(c: Choice) -> DataSet:
    return locomo.read_set(c.data / "locomo", c.half, ZONE, pictures=c.pictures, limit=c.first)


def _realtalk(c: Choice) -> DataSet:
    return realtalk.read_set(c.data / "realtalk", c.half, ZONE, pictures=c.pictures, limit=c.first)


def _memdaily(c: Choice) -> DataSet:
    limit = MEMDAILY_FIRST if c.limit is None else c.limit
    return memdaily.read_set(c.data / "memdaily", c.half, ZONE, noise=c.noise, limit=limit)


def _madial_zh(c: Choice) -> DataSet:
    return madial.read_set(c.data / "madial_zh", "zh", c.half, ZONE, limit=c.first)


def _madial_en(c: Choice) -> DataSet:
    return madial.read_set(c.data / "madial_en", "en", c.half, ZONE, limit=c.first)


def _realmem(c: Choice) -> DataSet:
    return realmem.read_set(c.data / "realmem", c.half, ZONE, limit=c.first)


def _longmemeval(c: Choice) -> DataSet:
    return longmemeval.read_set(c.data / "longmemeval_sample", c.half, ZONE, limit=c.first)


READERS: Mapping[str, Callable[[Choice], DataSet]] = MappingProxyType(
    {
        "locomo": _locomo,
        "realtalk": _realtalk,
        "memdaily": _memdaily,
        "madial_zh": _madial_zh,
        "madial_en": _madial_en,
        "realmem": _realmem,
        "longmemeval": _longmemeval,
    }
)
SETS = tuple(READERS)


OWN = ".jsonl"
"""A set whose name ends so is a file of the user's own (`datasets/own.py`)."""


@measuring()
def read_sets(names: Sequence[str], choice: Choice | None) -> list[DataSet]:
    """The chosen sets.

    Args:
        choice: None where nothing but files of the user's own are named.

    Raises:
        InputError: an unknown set, or no such files. UnreadableFile: a file of another shape, with its line.
    """
    if unknown := sorted(n for n in names if n not in READERS and not n.endswith(OWN)):
        raise InputError(
            f"no set {', '.join(unknown)}: choose from {', '.join(SETS)}, or name a file {OWN} of your own"
        )
    found = []
    for name in names:
        if name in READERS and choice is not None:
            found.append(READERS[name](choice))
        else:
            found.append(own.read_set(Path(name), ZONE))
    return found
