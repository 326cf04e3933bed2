"""Upkeep of a million memories: how fast, in how much memory, and whether a kill costs anything.

    python -m benchmarks.upkeep --memories 1000000 --dir /tmp/bench

A store of many users and one large one is filled once and kept. Then, on a copy: a first process is killed in the middle
of its work; a second goes on from there to the end, and is measured; a third looks at everything again, when nothing is
due. Each is a process of its own, so that its CPU time and its peak memory are its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.report import table
from jiyi.assembly import assemble, open_memory
from jiyi.domain.heat import Heat
from jiyi.domain.memory import Category, Evidence, Memory, Source
from jiyi.domain.plans import Change
from jiyi.domain.scope import Scope
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.gateway import UPKEEP
from jiyi.pipelines.upkeep import Step, Upkeep
from jiyi.ports import Kind, Unit
from jiyi.settings import Settings
from jiyi.stores.sqlite.store import open_sqlite

NOW = datetime(2026, 6, 1, 3, tzinfo=UTC)
DAY = timedelta(days=1)
LARGE, USUAL, CHUNK, AT_ONCE = 100_000, 1_000, 1_000, 10
KILLED_AFTER = 0.15  # of the jobs
# Of 20 memories: days since each was learnt, and since it was read, if ever. Six are due, three ways.
AGES: Sequence[tuple[Category, int, int | None]] = [
    (Category.GENERAL, 100, None), (Category.PREFERENCE, 120, None), (Category.PROJECT, 200, 10),
    (Category.GENERAL, 190, None), (Category.EVENT, 185, None), (Category.TASK, 181, None),
    *[(Category.GENERAL, 40, None), (Category.PREFERENCE, 300, 50), (Category.RULE, 900, None)] * 4,
    (Category.PROJECT, 170, 60), (Category.GENERAL, 3, 1),
]  # fmt: skip
DUE = 6


@dataclass(frozen=True, slots=True)
class Run:
    """What one process did. `own` is the peak of its own memory in MB, as far as it was sampled; `rss` is that of all it
    held, the mapped pages of the database file included, which the system takes back when it needs them."""

    scanned: int
    moved: int
    jobs: int
    cpu: float
    own: float
    rss: float


def owners(memories: int) -> Iterator[tuple[Scope, int]]:
    """The large user, and as many usual ones as it takes."""
    large = min(LARGE, memories // 10)
    yield Scope("large"), large
    for number in range((memories - large) // USUAL):
        yield Scope(f"u{number}"), USUAL


def memory_of(number: int) -> tuple[Memory, Heat | None]:
    category, learnt, read = AGES[number % len(AGES)]
    at = NOW - learnt * DAY
    text = f"第 {number} 号柜子里放着工具箱 box {number * 7919 % 100_003}，钥匙 in drawer {number % 97}"
    made = Memory(
        number, text, category, 3, Source.DECLARED, 0.95, at, at, at, text,
        evidence=(Evidence(number, 0, 12, at, f"s{number // 20}"),),
    )  # fmt: skip
    return made, None if read is None else Heat(1.0 + number % 5, NOW - read * DAY)


def fill(path: Path, memories: int) -> None:
    """Memories with heat, and a text index of those that upkeep will look for duplicates of."""
    with open_memory(path, worker=False, synchronous="NORMAL", clock=lambda: NOW) as layer:
        for scope, count in owners(memories):
            for first in range(1, count + 1, CHUNK):
                made = [memory_of(number) for number in range(first, min(first + CHUNK, count + 1))]

                def work(unit: Unit, scope: Scope = scope, made: list[tuple[Memory, Heat | None]] = made) -> None:
                    unit.memories.write(scope, [Change(None, m) for m, _ in made])
                    unit.memories.set_heat(scope, {m.seq: heat for m, heat in made if heat is not None})
                    warm = [layer._parts.indexing.memory(m) for m, _ in made if m.learnt_at > NOW - 30 * DAY]
                    unit.text.add(scope, Kind.MEMORY, warm)
                    unit.schedule.put(scope, UPKEEP, NOW)

                layer._store.write(work)


# ------------------------------------------------------------------ the processes


@dataclass(frozen=True, slots=True)
class Counted(Upkeep):
    """Counts what it looks at."""

    scanned: list[int] = field(default_factory=list)

    def step(self, unit: Unit, scope: Scope, after: int, now: datetime, **how: Any) -> Step:
        done = Upkeep.step(self, unit, scope, after, now, **how)
        self.scanned.append(done.scanned)
        return done


def work(path: Path, now: datetime) -> None:
    """Run what is due, a line of progress a few jobs; what was done last."""
    parts = assemble(Settings(worker=False))
    known = parts.upkeep
    counted = Counted(known.gateway, known.merging, known.retaining, known.tiers, known.policy)
    store = open_sqlite(path, synchronous="NORMAL")
    with MemoryLayer(store, replace(parts, upkeep=counted), lambda: now) as layer:
        start, jobs, own = time.process_time(), 0, 0.0
        while ran := layer.work(AT_ONCE):
            jobs, own = jobs + ran, max(own, _own_memory())
            print(jobs, flush=True)
        _tell(sum(counted.scanned), jobs, time.process_time() - start, own)


def look(path: Path, now: datetime) -> None:
    """Go through everything again, by hand."""
    with open_memory(path, worker=False, synchronous="NORMAL", clock=lambda: now) as layer:
        start, scanned, own = time.process_time(), 0, 0.0
        for scope in layer.scopes():
            upkept = layer.scope(scope.user).upkeep()
            if upkept.plans:
                raise SystemExit(f"a second run moved something of {scope}: {upkept}")
            scanned, own = scanned + upkept.scanned, max(own, _own_memory())
        _tell(scanned, 0, time.process_time() - start, own)


def _own_memory() -> float:
    """Memory that is no page of a file, in MB."""
    status = Path("/proc/self/status").read_text("ascii")
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith("RssAnon"))) / 1024


def _tell(scanned: int, jobs: int, cpu: float, own: float) -> None:
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(asdict(Run(scanned, 0, jobs, cpu, own, rss))), flush=True)


def _process(what: str, path: Path, now: datetime) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.upkeep",
        "--process",
        what,
        "--path",
        str(path),
        "--now",
        now.isoformat(),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _finished(process: subprocess.Popen[str]) -> Run:
    out, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"the process failed with {process.returncode}")
    return Run(**json.loads(out.splitlines()[-1]))


def _killed(path: Path, jobs: int) -> int:
    """Start the work and kill it after so many jobs; returns how many it had told of."""
    process = _process("work", path, NOW)
    assert process.stdout is not None
    done = 0
    for line in process.stdout:
        done = int(line)
        if done >= jobs:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    return done


def moved(path: Path) -> tuple[int, int]:
    """How many moves the ledger holds, and of how many memories."""
    with open_memory(path, worker=False, clock=lambda: NOW) as layer, layer._store.read() as unit:
        count = unit.access.value("SELECT count(*) FROM ledger_change")  # type: ignore[attr-defined]
        memories = unit.access.value("SELECT count(DISTINCT memory) FROM ledger_change")  # type: ignore[attr-defined]
    return int(count), int(memories)


def measure(folder: Path, memories: int) -> dict[str, Run | int]:
    folder.mkdir(parents=True, exist_ok=True)
    base, path = folder / f"upkeep-{memories}.db", folder / "upkeep-run.db"
    if not base.exists():
        part = folder / "upkeep-part.db"
        for file in folder.glob("upkeep-part.db*"):
            file.unlink()
        fill(part, memories)
        for file in sorted(folder.glob("upkeep-part.db*")):
            file.replace(folder / file.name.replace("upkeep-part.db", base.name))
    for file in folder.glob("upkeep-run.db*"):
        file.unlink()
    for file in sorted(folder.glob(f"{base.name}*")):
        shutil.copyfile(file, folder / file.name.replace(base.name, path.name))
    batches = sum(-(-count // 500) + 1 for _, count in owners(memories))
    _killed(path, int(batches * KILLED_AFTER))
    before, _ = moved(path)
    # The lease of the job in hand when the process was killed has to pass.
    second = _finished(_process("work", path, NOW + timedelta(minutes=6)))
    count, distinct = moved(path)
    expected = sum(sum(memory_due(n) for n in range(1, owned + 1)) for _, owned in owners(memories))
    if not count == distinct == expected:
        raise SystemExit(f"{count} moves of {distinct} memories, {expected} were due")
    third = _finished(_process("look", path, NOW + timedelta(minutes=7)))
    for file in folder.glob("upkeep-run.db*"):
        file.unlink()
    goes_on = Run(second.scanned, count - before, second.jobs, second.cpu, second.own, second.rss)
    return {"memories": memories, "before the kill": before, "goes on": goes_on, "again": third}


def memory_due(number: int) -> bool:
    return number % len(AGES) < DUE


def markdown(found: dict[str, Run | int]) -> str:
    second, third = found["goes on"], found["again"]
    assert isinstance(second, Run)
    assert isinstance(third, Run)
    rows = [
        ["killed (SIGKILL)", "", f"{found['before the kill']:,}", "", "", "", "", ""],
        ["goes on to the end", f"{second.scanned:,}", f"{second.moved:,}", f"{second.cpu:.1f}",
         f"{second.scanned / second.cpu:,.0f}", f"{second.moved / second.cpu:,.0f}", f"{second.own:.0f}", f"{second.rss:.0f}"],
        ["looks again, nothing is due", f"{third.scanned:,}", "0", f"{third.cpu:.1f}",
         f"{third.scanned / third.cpu:,.0f}", "", f"{third.own:.0f}", f"{third.rss:.0f}"],
    ]  # fmt: skip
    head = ("process", "scanned", "moved", "CPU s", "scanned / CPU s", "moved / CPU s", "peak own, MB", "peak RSS, MB")
    return f"## Upkeep of {found['memories']:,} memories\n\n{table(head, rows)}\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upkeep", description=__doc__.partition("\n")[0])
    parser.add_argument("--memories", type=int, default=1_000_000)
    parser.add_argument("--dir", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--process", choices=["work", "look"], help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--now", type=datetime.fromisoformat, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.process:
        (work if chosen.process == "work" else look)(chosen.path, chosen.now)
        return
    found = measure(chosen.dir, chosen.memories)
    text = markdown(found)
    if chosen.report:
        chosen.report.write_text(text, encoding="utf-8")
    else:
        print(text)
    if chosen.json:
        plain = {name: asdict(run) if isinstance(run, Run) else run for name, run in found.items()}
        chosen.json.write_text(json.dumps(plain, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
