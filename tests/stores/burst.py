"""A process that writes as fast as it can: `python burst.py FILE NAME SECONDS`.

Prints one line for each message that was acknowledged, after it was. Ends by itself, or by being killed.
"""

from __future__ import annotations

import sys
import threading
import time
from functools import partial
from itertools import count

from jiyi.domain.scope import Scope
from jiyi.stores.sqlite.store import open_sqlite
from tests.stores.facts import learn

THREADS = 4


def main(path: str, name: str, seconds: float) -> None:
    store = open_sqlite(path)
    printing = threading.Lock()
    end = time.monotonic() + seconds

    def write(thread: int) -> None:
        scope = Scope(f"u{thread}")
        for number in count():
            if time.monotonic() > end:
                return
            message_id = f"{name}-{thread}-{number}"
            store.write(partial(learn, scope=scope, message_id=message_id, text=f"第 {number} 件 fact of {name}"))
            with printing:
                sys.stdout.write(f"{scope.user} {message_id}\n")
                sys.stdout.flush()

    threads = [threading.Thread(target=write, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
