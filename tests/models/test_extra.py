"""Without the extra `models` everything but the model works, and the error names it."""

from __future__ import annotations

import subprocess
import sys

WITHOUT = """
import sys
sys.modules["httpx2"] = None  # as if it were not installed
from jiyi import open_memory
from jiyi.errors import MissingExtra
from jiyi.models.scripted import Scripted

with open_memory("reference", worker=False) as memory:
    memory.scope("u1").remember("我对花生过敏")
    assert memory.usage().model is None
with open_memory("reference", chat=Scripted(), worker=False) as memory:
    assert memory.usage().model == "scripted/lines"
try:
    open_memory("reference", worker=False, model={"preset": "ollama", "name": "m1"})
except MissingExtra as error:
    print(error)
"""


def test_the_core_works_without_the_http_client() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert "pip install 'jiyi[models]'" in run.stdout
