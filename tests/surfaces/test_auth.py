"""Who is calling, and whose memory they may reach (SPEC S1, S2)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi import open_memory
from jiyi.domain.access import RIGHTS, Right, Role
from jiyi.domain.scope import Scope
from jiyi.errors import InputError, IssuerUnreachable, NotAllowed, NotFound, NotIdentified, SettingsError
from jiyi.settings import IdentityPolicy
from jiyi.surfaces.auth.entrance import Entrance, check_binding, open_entrance
from jiyi.surfaces.auth.identity import Identity, Proof, scope_of
from jiyi.surfaces.auth.issuer_keys import read_key_set
from tests.surfaces.issuer import AUDIENCE, ISSUER, Issuer, new_key, published


def now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 — tokens are of the real time


def entrance(**more: object) -> Entrance:
    policy = IdentityPolicy(**{"mode": "jwt", "issuer": ISSUER, "audience": AUDIENCE, **more})  # type: ignore[arg-type]
    return open_entrance(policy, lambda _: None, lambda _: None)


def pem_of(issuer: Issuer, folder: Path) -> str:
    file = folder / "issuer.pem"
    file.write_bytes(issuer.key.as_pem(private=False))
    return str(file)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
@pytest.mark.parametrize("source", ["file", "jwks"])
def test_a_good_token_is_its_user_and_no_other_token_is_anybody(tmp_path: Path, algorithm: str, source: str) -> None:
    issuer = Issuer(algorithm)
    with published(issuer) as url:
        keys = {"jwks_url": url} if source == "jwks" else {"key_file": pem_of(issuer, tmp_path), "key_id": "k1"}
        door = entrance(**keys)
        known = door.identify(issuer.token("李明", "acme", roles=["agent", "not ours"]), now())
        assert known == Identity(Proof.TOKEN, "acme", "李明", frozenset({Role.AGENT}))
        assert door.identify(issuer.token(aud=["shop", AUDIENCE]), now()).roles == frozenset({Role.USER})
        for why, token in {**issuer.wrong_tokens(), "none at all": None}.items():
            with pytest.raises(NotIdentified) as refused:
                door.identify(token, now())
            assert "ming" not in str(refused.value), why


def test_an_issuer_may_still_say_EdDSA(tmp_path: Path) -> None:
    issuer = Issuer("EdDSA")
    token = issuer.token(header={"alg": "Ed25519"})
    assert entrance(key_file=pem_of(issuer, tmp_path)).identify(token, now()).user == "ming"
    with pytest.raises(NotIdentified, match="algorithm"):
        entrance(key_file=pem_of(issuer, tmp_path), algorithms=("RS256",)).identify(token, now())


def test_clocks_may_differ_a_little(tmp_path: Path) -> None:
    issuer = Issuer()
    door = entrance(key_file=pem_of(issuer, tmp_path), leeway_seconds=30)
    at = now()
    seconds = int(at.timestamp())
    assert door.identify(issuer.token(exp=seconds - 20), at).user == "ming"
    assert door.identify(issuer.token(nbf=seconds + 20), at).user == "ming"
    for late in ({"exp": seconds - 40}, {"nbf": seconds + 40}):
        with pytest.raises(NotIdentified):
            door.identify(issuer.token(**late), at)


def test_claims_are_found_where_the_settings_say(tmp_path: Path) -> None:
    issuer = Issuer()
    file = pem_of(issuer, tmp_path)
    door = entrance(
        key_file=file, user_claim="https://acme.example/uid", tenant_claim="org.id", roles_claim="realm.roles"
    )
    told = {"https://acme.example/uid": "u7", "org": {"id": "north"}, "realm": {"roles": ["auditor"]}}
    assert door.identify(issuer.token(**told), now()) == Identity(Proof.TOKEN, "north", "u7", frozenset({Role.AUDITOR}))
    one = entrance(key_file=file, tenant_claim=None, tenant="home")
    assert one.identify(issuer.token(), now()).tenant == "home"


class TestRotation:
    def test_a_new_key_is_fetched_when_a_token_names_it(self) -> None:
        issuer = Issuer()
        with published(issuer) as url:
            door, at = entrance(jwks_url=url), now()
            first = issuer.token()
            assert door.waits_for(first, at)
            assert door.identify(first, at).user == "ming"
            assert not door.waits_for(first, at)
            issuer.rotate()
            second = issuer.token()
            assert door.waits_for(second, at)
            assert [door.identify(t, at).user for t in (first, second)] == ["ming", "ming"]
            assert issuer.asked == 2

    def test_a_key_that_is_withdrawn_opens_nothing_once_keys_are_old(self) -> None:
        issuer = Issuer()
        with published(issuer) as url:
            door, at = entrance(jwks_url=url, jwks_seconds=300), now()
            stolen = issuer.token(exp=int(at.timestamp()) + 9000)
            door.identify(stolen, at)
            issuer.rotate()
            issuer.keys = issuer.keys[-1:]
            with pytest.raises(NotIdentified, match="no key"):
                door.identify(stolen, at + timedelta(seconds=301))

    def test_made_up_ids_do_not_make_us_a_weapon(self) -> None:
        issuer = Issuer()
        with published(issuer) as url:
            door, at = entrance(jwks_url=url, jwks_fetches_a_minute=3), now()
            assert door.identify(issuer.token(), at).user == "ming"
            for number in range(20):
                with pytest.raises(NotIdentified):
                    door.identify(issuer.token(header={"kid": f"x{number}"}), at)
            assert issuer.asked == 3
            assert door.identify(issuer.token(), at).user == "ming"

    def test_when_the_issuer_is_away_known_keys_stay_good_for_a_while(self) -> None:
        issuer = Issuer()
        with published(issuer) as url:
            door, at = entrance(jwks_url=url, jwks_stale_seconds=3600), now()
            token = issuer.token(exp=int(at.timestamp()) + 90_000)
            door.identify(token, at)
            issuer.broken = True
            assert door.identify(token, at + timedelta(seconds=3000)).user == "ming"
            with pytest.raises(IssuerUnreachable):
                door.identify(token, at + timedelta(seconds=3700))
            issuer.broken = False
            assert door.identify(token, at + timedelta(seconds=3800)).user == "ming"

    def test_an_issuer_that_was_never_there_is_not_taken_for_a_bad_token(self) -> None:
        issuer = Issuer()
        with published(issuer) as url:
            issuer.broken = True
            with pytest.raises(IssuerUnreachable):
                entrance(jwks_url=url).identify(issuer.token(), now())


class TestServiceKeys:
    def test_a_key_opens_its_tenant_until_it_is_revoked(self, tmp_path: Path) -> None:
        with open_memory(tmp_path / "memory.db", worker=False) as memory:
            door = open_entrance(IdentityPolicy(tenant="home"), memory.service_key, memory.visitor)
            key, text = memory.make_service_key("客服", tenant="acme", roles=["agent"])
            other, _ = memory.make_service_key("audit", tenant="acme", roles=[Role.AUDITOR])
            known = door.identify(text, now())
            assert known == Identity(Proof.KEY, "acme", None, frozenset({Role.AGENT}), f"key {key.id}")
            secret = text.rpartition("_")[2]
            assert secret.encode() not in (tmp_path / "memory.db").read_bytes()
            for wrong in (text[:-1], text + "x", text.replace(key.id, other.id), "jiyi_sk_", "jiyi_sk_00000000_abc"):
                with pytest.raises(NotIdentified):
                    door.identify(wrong, now())
            memory.revoke_service_key(key.id)
            with pytest.raises(NotIdentified):
                door.identify(text, now())
            with pytest.raises(NotFound):
                memory.revoke_service_key(key.id)
            assert [k.revoked_at is None for k in memory.service_keys()] == [False, True]

    def test_what_cannot_be_a_key_is_not_made(self) -> None:
        with open_memory("reference", worker=False) as memory:
            for wrong in ({"roles": []}, {"roles": ["king"]}, {"tenant": ""}):
                with pytest.raises(InputError):
                    memory.make_service_key("x", **wrong)  # type: ignore[arg-type]
            assert memory.service_keys() == []


class TestScopes:
    TOKEN = Identity(Proof.TOKEN, "acme", "ming", frozenset({Role.USER}))
    KEY = Identity(Proof.KEY, "acme", None, frozenset({Role.AGENT}), "key k1")
    LOCAL = Identity(Proof.LOCAL, "default", "me", frozenset({Role.ADMIN}))

    def test_a_token_is_its_user_whatever_is_named(self) -> None:
        assert (
            scope_of(self.TOKEN)
            == scope_of(self.TOKEN, users=["ming", "ming"], tenants=["acme"])
            == Scope("ming", "acme")
        )
        for users, tenants in ((["nora"], []), (["ming", "nora"], []), ([], ["other"]), (["ming"], ["acme", "other"])):
            with pytest.raises(NotAllowed):
                scope_of(self.TOKEN, users=users, tenants=tenants)

    def test_a_service_names_a_user_of_its_own_tenant(self) -> None:
        assert scope_of(self.KEY, users=["nora"]) == Scope("nora", "acme")
        for users, tenants in (([], []), (["nora"], ["other"]), (["nora", "ming"], [])):
            with pytest.raises(NotAllowed):
                scope_of(self.KEY, users=users, tenants=tenants)

    def test_on_this_machine_a_name_selects(self) -> None:
        assert scope_of(self.LOCAL) == Scope("me")
        assert scope_of(self.LOCAL, users=["nora"], tenants=["t2"]) == Scope("nora", "t2")
        with pytest.raises(NotAllowed):
            scope_of(self.LOCAL, users=["nora", "ming"])

    @given(st.lists(st.text(max_size=8), max_size=3), st.lists(st.text(max_size=8), max_size=3))
    def test_nothing_named_ever_widens_a_token(self, users: list[str], tenants: list[str]) -> None:
        try:
            scope = scope_of(self.TOKEN, users=users, tenants=tenants)
        except NotAllowed:
            return
        assert scope == Scope("ming", "acme")

    def test_roles_bring_rights(self) -> None:
        assert {
            right for right in Right if right in Identity(Proof.KEY, "t", None, frozenset({Role.AUDITOR})).rights
        } == {Right.AUDIT}
        assert Right.ADMINISTER not in RIGHTS[Role.USER] | RIGHTS[Role.AGENT] | RIGHTS[Role.AUDITOR]
        self.TOKEN.check(Right.WRITE)
        with pytest.raises(NotAllowed, match="audit"):
            self.KEY.check(Right.AUDIT)


class TestSettings:
    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org", ""])
    def test_without_tokens_others_are_not_served(self, host: str) -> None:
        with pytest.raises(SettingsError, match="this machine only"):
            check_binding(IdentityPolicy(), host)
        check_binding(IdentityPolicy(mode="jwt"), host)

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8", "::ffff:127.0.0.1"])
    def test_this_machine_is_served(self, host: str) -> None:
        check_binding(IdentityPolicy(), host)

    def test_what_cannot_work_is_said_at_the_start(self, tmp_path: Path) -> None:
        issuer = Issuer()
        file = pem_of(issuer, tmp_path)
        private, weak = tmp_path / "private.pem", tmp_path / "weak.pem"
        private.write_bytes(issuer.key.as_pem(private=True))
        weak.write_text("nothing of a key")
        wrong = (
            {}, {"key_file": file, "jwks_url": "https://x.example"}, {"jwks_url": "http://x.example/jwks"},
            {"jwks_url": "ftp://127.0.0.1/x"}, {"key_file": str(private)}, {"key_file": str(weak)},
            {"key_file": str(tmp_path / "no.pem")}, {"key_file": file, "algorithms": ("HS256",)},
            {"key_file": file, "tenant_claim": None}, {"key_file": file, "issuer": None}, {"key_file": file, "audience": ""},
        )  # fmt: skip
        for more in wrong:
            with pytest.raises(SettingsError):
                entrance(**more)

    def test_no_token_is_trusted_where_no_issuer_is(self) -> None:
        door = open_entrance(IdentityPolicy(), lambda _: None, lambda _: None)
        assert door.identify(None, now()).proof is Proof.LOCAL
        with pytest.raises(NotIdentified, match=r"identity\.mode"):
            door.identify(Issuer().token(), now())


def test_keys_of_a_jwks_that_verify_nothing_are_left_out() -> None:
    issuer = Issuer()
    public = issuer.key.as_dict(private=False)
    weak = {"kty": "oct", "k": "c2VjcmV0", "kid": "k2"}
    private = new_key("ES256", "k3").as_dict(private=True)
    encryption = {**new_key("ES256", "k4").as_dict(private=False), "use": "enc"}
    document = json.dumps({"keys": [public, weak, private, encryption, {}, 7, {"kty": "RSA"}]}).encode()
    assert [k.id for k in read_key_set(document)] == ["k1"]
