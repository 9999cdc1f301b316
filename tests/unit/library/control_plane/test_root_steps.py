"""Steps of a turnover of roots: their kinds, and the reasons for which one waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pulumi_hosted_mesh.boundary.cacerts import cacerts_files
from pulumi_hosted_mesh.control_plane.root_steps import RELOAD, ROLLOUT, DataPlaneRoots, Step, keys_in, refusals, step

from tests.support.authorities import Authority, pem

OLD, NEW, OTHER = Authority("old"), Authority("new"), Authority("other")
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(hours=24)
KEY = next(iter(keys_in(pem(NEW.certificate).decode())))


def files(signer: Authority, *roots: Authority) -> dict[str, str]:
    own = Authority("intermediate", signer)
    return cacerts_files(pem(own.certificate).decode(), "key", "".join(pem(one.certificate).decode() for one in roots))


def renewed(root: Authority) -> Authority:
    again = Authority("unused")
    again.key, again.name = root.key, root.name
    again.certificate = again.sign(again.name, again.key.public_key(), ca=True)
    return again


STEPS: dict[str, tuple[dict[str, str], dict[str, str], Step | None]] = {
    "trust": (files(OLD, OLD), files(OLD, OLD, NEW), None),
    "sign": (files(OLD, OLD, NEW), files(NEW, OLD, NEW), Step(("new", KEY))),
    "retire": (files(NEW, OLD, NEW), files(NEW, NEW), Step(removed=("old",))),
    "an untrusted root signs": (files(OLD, OLD), files(NEW, OLD, NEW), Step(("new", KEY), unknown=True)),
    "sign and retire at once": (files(OLD, OLD, NEW), files(NEW, NEW), Step(("new", KEY), ("old",), at_once=True)),
    "back": (files(NEW, OLD, NEW), files(OLD, OLD, NEW), None),
    "a root without overlap": (files(OLD, OLD), files(OTHER, OTHER), None),
    "another intermediate": (files(OLD, OLD), files(OLD, OLD), None),
    "a renewed root": (files(OLD, OLD), files(OLD, renewed(OLD)), None),
}


@pytest.mark.parametrize(("present", "following", "wanted"), STEPS.values(), ids=STEPS)
def test_steps_are_distinguished(present: dict[str, str], following: dict[str, str], wanted: Step | None) -> None:
    found = step(present, following)
    if wanted is None and found is not None:  # back is a step to a root that is trusted, too
        assert found.signing is not None
        assert (found.signing[0], found.unknown, found.at_once) == ("old", False, False)
    else:
        assert found == wanted


SIGN, RETIRE = Step(("new", KEY)), Step(removed=("old",))
SINCE = NOW - HOUR


def place(*, trusts: bool = True, webhooks: bool = True, started: datetime | None = NOW) -> DataPlaneRoots:
    keys = frozenset({KEY}) if trusts else frozenset[bytes]()
    hooks = {"injector": frozenset({KEY}) if webhooks else frozenset[bytes]()}
    return DataPlaneRoots(keys, SINCE, hooks, {("shop", "page-0"): started})


REFUSED: dict[str, tuple[Step, DataPlaneRoots, str]] = {
    "all arrived": (SIGN, place(), ""),
    "an old proxy": (SIGN, place(started=SINCE - HOUR), "proxies in namespaces shop do not trust root new"),
    "a proxy from the rollout": (SIGN, place(started=SINCE + ROLLOUT / 2), "do not trust root new, or may not"),
    "a proxy that has not started": (SIGN, place(started=None), "do not trust root new"),
    "an old webhook": (SIGN, place(webhooks=False), "webhooks do not trust root new: injector"),
    "istiod without it": (SIGN, place(trusts=False), "istiod has not written root new"),
    "not trusted": (Step(("new", KEY), unknown=True), place(), "First set it to trusted"),
    "at once": (Step(("new", KEY), ("old",), at_once=True), place(), "Set it to trusted in this step"),
    "renewed proxies": (RETIRE, place(started=SINCE + RELOAD), ""),
    "certificates of the old one": (RETIRE, place(started=SINCE - HOUR), "have certificates of root old"),
}


@pytest.mark.parametrize(("wanted", "data_plane", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_step_waits_for_the_one_before(wanted: Step, data_plane: DataPlaneRoots, reason: str) -> None:
    found = list(refusals(wanted, [place(), data_plane], SINCE, NOW, DAY))
    assert bool(found) == bool(reason)
    assert all(reason in one for one in found), found


@pytest.mark.parametrize("wanted", [SIGN, RETIRE])
def test_after_a_certificates_lifetime_all_proxies_have_renewed(wanted: Step) -> None:
    old = place(started=SINCE - 30 * DAY)
    assert list(refusals(wanted, [old], SINCE, SINCE + DAY, DAY))
    assert not list(refusals(wanted, [old], SINCE, SINCE + DAY + RELOAD, DAY))


def test_an_unknown_time_waits() -> None:
    assert list(refusals(RETIRE, [place()], None, NOW, DAY)) == [
        "proxies in namespaces shop have certificates of root old, or may have. Restart them"
    ]
