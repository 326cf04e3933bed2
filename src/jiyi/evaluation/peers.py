"""Other memories beside jiyi in a comparison. They are no part of jiyi: a checkout has them in `benchmarks/peers`."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from jiyi.errors import InputError
from jiyi.evaluation.contenders import Contender

PACKAGE = "benchmarks.peers"
_NAME = re.compile(r"[a-z]\w*(:\w+)?", re.ASCII)

OpenPeer = Callable[[Path], Contender]


def load_peer(written: str, root: Path) -> OpenPeer:
    """What opens the peer `NAME` or `NAME:OPTION` in a folder.

    Args:
        root: the checkout that holds `benchmarks/peers`.

    Raises:
        InputError: there is no such peer, or what it needs is not installed.
    """
    name, _, option = written.partition(":")
    if not _NAME.fullmatch(written) or not (root / "benchmarks" / "peers" / f"{name}.py").is_file():
        known = sorted(p.stem for p in (root / "benchmarks" / "peers").glob("*.py") if p.stem[0] != "_")
        where = (
            f"there are {', '.join(known)}" if known else "run this in a checkout of jiyi, which has benchmarks/peers"
        )
        raise InputError(f"no peer {written!r} to compare with: {where}")
    if str(root) not in sys.path:
        sys.path.append(str(root))
    try:
        with one_thread():
            module = importlib.import_module(f"{PACKAGE}.{name}")
    except ImportError as error:
        raise InputError(
            f"{written} cannot run here ({error}): pip install --group peers, or leave it out of --beside"
        ) from error
    opened = cast(Callable[[Path, str], Contender], module.open_peer)
    return lambda folder: opened(folder, option)


ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
"""Threads that spin while they wait make a query fifty times as slow on a machine that has other work."""


@contextmanager
def one_thread() -> Iterator[None]:
    """numpy and OpenMP read these when they are loaded, and nobody else is to see them."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
