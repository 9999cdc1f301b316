"""Other credentials in the place of those that everybody sees to be some, and nothing else changed."""

from __future__ import annotations

import random
import secrets
import string

import pytest
from hosted_mesh_analysis.runner.secrets import forms

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def drawn(length: int, letters: str = LETTERS) -> str:
    return "".join(secrets.choice(letters) for _ in range(length))


SEEN = {
    "GitHub": f"ghp_{drawn(36)}",
    "GitLab": f"glpat-{drawn(20)}",
    "Google": f"AIza{drawn(35)}",
    "Vault": f"hvs.{drawn(24)}",
    "Pulumi": f"pul-{drawn(40, HEX)}",
    "Stripe": f"sk_live_{drawn(24)}",
    "Slack's apps": f"xapp-1-A{drawn(10, string.ascii_uppercase)}-{drawn(13, string.digits)}-{drawn(64, HEX)}",
    "OpenShift": f"sha256~{drawn(43)}",
    "GitLab's features": f"glffct-{drawn(20)}",
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
        (f"https://hooks.slack.com/services/T{drawn(8)}/B{drawn(8)}/{drawn(24)}", "https://hooks.slack.com/"),
        (
            f"https://shop.blob.core.windows.net/files?sig={drawn(20)}%2F{drawn(9)}%2b{drawn(12)}%3D",
            "sig=",
        ),
        (f"{drawn(10, string.digits)}:AA{drawn(33)}", ":"),
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
    text = drawn(32, HEX)
    other = forms.opaque(text, random.Random(0))
    assert bytes.fromhex(other)
    assert all(one != two for one, two in zip(text, other, strict=True))


def test_a_token_that_is_marked_keeps_what_its_kind_begins_with() -> None:
    made = forms.fresh(SEEN["GitHub"], random.Random(0))
    assert made.startswith("ghp_")
    assert made != SEEN["GitHub"]
