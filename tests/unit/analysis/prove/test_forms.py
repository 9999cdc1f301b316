"""Other credentials in the place of those that everybody sees to be some, and nothing else changed."""

from __future__ import annotations

import random

import pytest
from hosted_mesh_policies.prove.secrets import forms

from tests.unit.policies.detect.test_credential_forms import CREDENTIALS, drawn

SEEN = {
    "GitHub": f"ghp_{drawn(36)}",
    "GitLab": f"glpat-{drawn(20)}",
    "Google": f"AIza{drawn(35)}",
    "Vault": f"hvs.{drawn(24)}",
    "Pulumi": f"pul-{drawn(40, '0123456789abcdef')}",
    "Stripe": f"sk_live_{drawn(24)}",
    **{name: CREDENTIALS[name] for name in ("token of Slack's apps", "token of OpenShift", "token of GitLab")},
}


@pytest.mark.parametrize("name", SEEN)
def test_a_token_in_a_text_is_another_of_its_form_and_the_rest_stays(name: str) -> None:
    token = SEEN[name]
    text = f"# of the images\nurl: https://images.example.com/api\nlogin: {token}\nretries: 3\n"
    assert forms.holds_credential(text)
    made = forms.fresh_credentials(text, random.Random(0))
    before, after = text.split(token)
    assert made.startswith(before)
    assert made.endswith(after)
    other = made[len(before) : -len(after)]
    assert (other[:4], len(other)) == (token[:4], len(token))
    assert forms.holds_credential(other)
    assert sum(one == two for one, two in zip(token, other, strict=True)) <= 14


@pytest.mark.parametrize(
    "text",
    [
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "https://example.com/a/b",
        "8f14e45fceea167a5a36dedd4bea2543",
        "registry.example.com/team/app:1.2.3",
    ],
)
def test_what_is_none_stays(text: str) -> None:
    assert not forms.holds_credential(text)
    assert forms.fresh_credentials(text, random.Random(0)) == text


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        (f"DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={drawn(86)}==", "AccountName=shop;AccountKey="),
        (f"CF_API_TOKEN={drawn(40)}", "CF_API_TOKEN="),
        (CREDENTIALS["webhook of Slack"], "https://hooks.slack.com/"),
        (CREDENTIALS["shared access signature"], "sig="),
        (CREDENTIALS["token of a bot"], ":"),
    ],
    ids=["key of an account", "named", "webhook", "signature", "bot"],
)
def test_what_is_before_a_secret_stays(text: str, stays: str) -> None:
    made = forms.fresh_credentials(text, random.Random(0))
    before = text.partition(stays)[0] + stays
    assert made.startswith(before)
    assert made != text
    assert len(made) == len(text)


def test_hex_stays_hex() -> None:
    text = drawn(32, "0123456789abcdef")
    other = forms.opaque(text, random.Random(0))
    assert bytes.fromhex(other)
    assert all(one != two for one, two in zip(text, other, strict=True))


def test_a_token_that_is_marked_keeps_what_its_kind_begins_with() -> None:
    made = forms.fresh(SEEN["GitHub"], random.Random(0))
    assert made.startswith("ghp_")
    assert made != SEEN["GitHub"]
