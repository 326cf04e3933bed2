import sys

import pytest

# Another folder of tests may have asked for it already.
if "jiyi.testing" not in sys.modules:
    pytest.register_assert_rewrite("jiyi.testing")
