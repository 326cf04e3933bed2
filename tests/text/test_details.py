"""What a digest keeps as it stands, and what only looks like it (SPEC R6)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from jiyi.shipped import load_cues
from jiyi.testing.strategies import texts

DETAILS = load_cues().details


def found(text: str) -> list[tuple[str, str]]:
    return [(d.kind, text[d.start : d.end]) for d in DETAILS.find(text)]


@pytest.mark.parametrize(
    ("text", "kind", "detail"),
    [
        ("执行 pip install flask==3.0.2 后重试", "command", "pip install flask==3.0.2"),
        ("先 sudo reboot 一下", "command", "sudo reboot"),
        ("then `make release`, please", "code", "`make release`"),
        ("docker compose up -d", "command", "docker compose up -d"),
        ("升到 v2.3.1-rc.1 再说", "version", "v2.3.1-rc.1"),
        ("needs numpy>=1.26", "version", "numpy>=1.26"),
        ("看 /etc/nginx/conf.d/app.conf 第三行", "path", "/etc/nginx/conf.d/app.conf"),
        ("改 config/settings.toml", "path", "config/settings.toml"),
        ("in src/app/main", "path", "src/app/main"),
        ("写在 .env 里", "path", ".env"),
        ("抛出 KeyError: 'id'。然后", "error", "KeyError: 'id'"),
        ("got ECONNREFUSED again", "error", "ECONNREFUSED"),
        ("exit code 137", "error", "exit code 137"),
        ("see https://example.org/a?b=1 for more", "url", "https://example.org/a?b=1"),
        ("预算三百万元", "amount", "三百万元"),
        ("down by 12.5%", "amount", "12.5%"),
        ("设置 DB_URL 变量", "name", "DB_URL"),
        ("工单 OPS-1432", "name", "OPS-1432"),
        ("延迟 350 ms", "measure", "350 ms"),
    ],
)
def test_details_are_found_whole(text: str, kind: str, detail: str) -> None:
    assert (kind, detail) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "let's go to the beach", "make sure you rest", "a service that is down", "the source of truth", "export the list",
        "you can call me 24/7", "and/or", "on 2026/03/01", "my EMAIL is full", "ENGLISH only", "he is great. Then we left",
        "python is a nice language", "今天天气不错", "",
    ],
)  # fmt: skip
def test_talk_has_none(text: str) -> None:
    assert [d for d in DETAILS.find(text) if d.weight > 1] == []


@given(texts())
def test_details_never_overlap(text: str) -> None:
    spans = [(d.start, d.end) for d in DETAILS.find(text)]
    assert all(start < end for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
