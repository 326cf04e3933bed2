from __future__ import annotations

import doctest

from jiyi.text import writings


def test_the_examples_hold() -> None:
    failed, ran = doctest.testmod(writings)
    assert ran >= 3
    assert failed == 0
