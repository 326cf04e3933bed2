import pytest

pytest.register_assert_rewrite("jiyi.testing")
