"""A process of a service: `python burst.py URL FOLDER NAME SECONDS USERS [VERBS]`.

Says, asks, works and forgets for random users, or does only the verbs that are named. Prints a line of JSON for each message that was acknowledged, each job that was
done (its id and attempt), and each thing that was recalled for the wrong user. With HANG it takes one job and never ends it.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from jiyi.errors import NotFound
from jiyi.stores.postgres.store import open_postgres
from tests.postgres.stores import open_on

THREADS = 2


def say(**fields: object) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def hang(url: str) -> None:
    """Take a job for two seconds and sleep on it; then, late, try to end it and say whether that was granted."""
    store = open_postgres(url)
    now = datetime.now(UTC)  # noqa: TID251
    while (job := store.write(lambda unit: unit.jobs.claim(now, now + timedelta(seconds=2)))) is None:
        time.sleep(0.05)
    say(hung=job.id, attempt=job.attempt)
    sys.stdin.readline()
    say(late=store.write(lambda unit: unit.jobs.finish(job)))
    store.close()


VERBS = ("observe", "observe", "recall", "work", "remember", "forget")


def main(url: str, folder: str, name: str, seconds: float, users: int, verbs: Sequence[str] = VERBS) -> None:
    with open_on(url, Path(folder), lambda: datetime.now(UTC)) as layer:  # noqa: TID251
        end = time.monotonic() + seconds

        def act(thread: int) -> None:
            rng, done = random.Random(f"{name}-{thread}"), Counter[str]()
            for number in count():
                if time.monotonic() > end:
                    say(done=done)
                    return
                user = f"u{rng.randrange(users)}"
                me, message_id = layer.scope(user), f"{name}-{thread}-{number}"
                began, verb = time.monotonic(), rng.choice(verbs)
                match verb:
                    case "observe":
                        text = f"{user} 说：我住在第{rng.randrange(9)}号楼，代号 {user}x{number}。"
                        me.observe([{"role": "user", "text": text, "id": message_id}], session=f"s{rng.randrange(3)}")
                        say(user=user, message=message_id, at=time.monotonic(), seconds=time.monotonic() - began)
                    case "remember":
                        me.remember(f"{user} 的偏好是 {user}y{number}")
                    case "recall":
                        wrong = [
                            i.text
                            for i in me.recall("偏好 代号 号楼", limit=20).items
                            if f"{user}" not in i.text and "用户" not in i.text
                        ]
                        if wrong:
                            say(foreign=wrong, user=user)
                    case "work":
                        done["job"] += layer.work(3)
                    case "forget":
                        live = me.memories(status="live")
                        if live and rng.random() < 0.3:
                            with suppress(NotFound):  # Another process forgot it just now.
                                me.forget(memory=f"m{live[-1].seq}")
                                done["forgotten"] += 1
                done[verb] += 1

        def guarded(thread: int) -> None:
            try:
                act(thread)
            except Exception as error:  # noqa: BLE001 - the test counts them
                say(error=f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=guarded, args=(i,)) for i in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    if sys.argv[1] == "hang":
        hang(sys.argv[2])
    else:
        main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5]), sys.argv[6:] or VERBS)
