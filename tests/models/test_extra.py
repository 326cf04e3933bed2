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


WITHOUT_NUMPY = """
import sys, tempfile
sys.modules["numpy"] = None  # as if it were not installed
from jiyi import open_memory
from jiyi.errors import MissingExtra

path = tempfile.mkdtemp() + "/memory.db"
with open_memory(path, worker=False) as memory:
    memory.scope("u1").remember("我对花生过敏")
    memory.scope("u1").forget(everything=True)
    assert [c for c in memory.check() if not c.ok] == []
for asked in ({"embedder": "use"}, {"embedder": "endpoint", "embedding": {"preset": "ollama", "name": "m1"}}, {"vector_engine": "chroma:x"}):
    try:
        open_memory(path, worker=False, **asked)
    except MissingExtra as error:
        print(error)
"""


def test_the_core_works_without_numpy() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT_NUMPY], capture_output=True, text=True, check=True)
    named = [line.rpartition("pip install ")[2] for line in run.stdout.splitlines()]
    assert named == [f"'jiyi[{extra}]', or in a clone '.[{extra}]'" for extra in ("local", "vectors", "vectors")]


def test_who_has_no_embedder_does_not_load_numpy() -> None:
    code = "import sys, jiyi; m = jiyi.open_memory('reference', worker=False); m.close(); print('numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


WITHOUT_THE_MODEL_FOR_ENGLISH = """
import sys
sys.modules["onnxruntime"] = None  # as if it were not installed
from jiyi.embedders import open_local
from jiyi.errors import MissingExtra

assert open_local("both").dimension == 896
try:
    open_local("all")
except MissingExtra as error:
    print(error)
"""


def test_both_works_without_the_model_for_english() -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_MODEL_FOR_ENGLISH], capture_output=True, text=True, check=True
    )
    assert "pip install 'jiyi[local-en]'" in run.stdout
