import pytest
from hypothesis import given

from jiyi.domain.scope import MAX_NAME, Scope, check_name
from jiyi.errors import InputError
from jiyi.testing.strategies import names, scopes


@pytest.mark.parametrize("name", ["u001", "李明", "a b", "👩‍👩‍👧", "e\u0301", "%", "'", "x" * MAX_NAME, " padded "])
def test_printable_names_are_kept_as_they_are(name: str) -> None:
    assert check_name("user", name) == name
    assert Scope(name).user == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("\u3000", "is empty"),
        ("x" * (MAX_NAME + 1), "201 characters, the limit is 200"),
        ("a\x00b", "control characters"),
        ("a\nb", "control characters"),
        ("a\x7f", "control characters"),
        ("a\ud800", "control characters"),
        (None, "must be text, not NoneType"),
        (7, "must be text, not int"),
        (b"u001", "must be text, not bytes"),
    ],
)
def test_other_names_are_refused_with_the_reason(name: object, reason: str) -> None:
    for build in (lambda: check_name("session", name), lambda: Scope(name), lambda: Scope("u", name)):  # type: ignore[arg-type]
        with pytest.raises(InputError, match=reason):
            build()
    with pytest.raises(InputError, match=r"^session"):
        check_name("session", name)


def test_a_scope_is_user_and_tenant() -> None:
    assert Scope("u001") == Scope("u001", "default")
    assert Scope("u001") != Scope("u001", "other")
    assert Scope("u001") != Scope("U001")
    assert len({Scope("u001"), Scope("u001", "default"), Scope("u001", "other")}) == 2


def test_a_scope_prints_its_tenant_unless_it_is_the_default() -> None:
    assert str(Scope("李明")) == "李明"
    assert str(Scope("李明", "公司")) == "公司/李明"


@given(scopes(), names())
def test_any_valid_scope_can_be_a_key(scope: Scope, name: str) -> None:
    assert {scope: 1}[Scope(scope.user, scope.tenant)] == 1
    assert check_name("name", name) == name
