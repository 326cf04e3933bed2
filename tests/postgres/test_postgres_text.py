"""Text that PostgreSQL cannot hold as it is goes in and comes out as it was, and is found as it stands."""

from __future__ import annotations

import pytest

from jiyi.errors import InputError
from jiyi.stores.postgres.access import ESCAPE
from jiyi.stores.postgres.store import open_postgres
from jiyi.testing.contract_base import message, put_messages
from tests.postgres.stores import one_server
from tests.stores.facts import ME

TEXTS = ("\0", "a\0b", ESCAPE, f"{ESCAPE}0", f"{ESCAPE}1\0{ESCAPE}", f"{ESCAPE}{ESCAPE}", "\0\0", "0", "1", "plain")


@one_server
def test_nul_and_what_stands_for_it_come_back(postgres_url: str) -> None:
    store = open_postgres(postgres_url)
    put_messages(store, ME, *(message(f"{i}{text}", text, session=text or "s") for i, text in enumerate(TEXTS)))
    store.set_meta("a\0name", f"{ESCAPE}value\0")
    assert store.meta("a\0name") == f"{ESCAPE}value\0"
    with store.read() as unit:
        assert [m.text for m in unit.messages.window(ME, limit=50)] == list(TEXTS)
        assert [m.text for m in unit.messages.containing(ME, ["a\0"], 50)] == ["a\0b"]
        assert [m.text for m in unit.messages.window(ME, session="\0\0")] == ["\0\0"]
        found = unit.messages.by_id(ME, f"0{TEXTS[0]}")
        assert found is not None
        assert found.text == TEXTS[0]
    store.close()


@one_server
def test_what_no_database_holds_is_refused_as_everywhere(postgres_url: str) -> None:
    store = open_postgres(postgres_url)
    with pytest.raises(InputError, match="lone surrogate"):
        put_messages(store, ME, message("a", "\ud800"))
    with pytest.raises(InputError, match=r"2\^63"):
        store.write(lambda unit: unit.access.rows("SELECT %s::bigint", (1 << 80,)))  # type: ignore[attr-defined]
    put_messages(store, ME, message("a", "fine"))
    store.close()
