"""Which texts are credentials by their form alone, and which only look so."""

from __future__ import annotations

import base64
import json
import secrets
import string
from typing import Final

import pytest
from hosted_mesh_analysis.diff.masked import is_credential
from hosted_mesh_policies.detect.shape.credential_forms import SIGNATURES, TOKENS, Signature, matches
from hosted_mesh_policies.detect.shape.shapes import may_hold_shape, shapes
from hypothesis import given, settings
from hypothesis import strategies as st

LETTERS: Final = string.ascii_letters + string.digits
HEX: Final = "0123456789abcdef"


def drawn(length: int, letters: str = LETTERS) -> str:
    return "".join(secrets.choice(letters) for _ in range(length))


def _uuid() -> str:
    return "-".join(drawn(size, HEX) for size in (8, 4, 4, 4, 12))


SAS = "https://shop.blob.core.windows.net/files?sv=2022-11-02&sr=c&sp=r&se=2030-01-01T00:00:00Z&sig="
TEAMS = f"https://shop.webhook.office.com/webhookb2/{_uuid()}@{_uuid()}/IncomingWebhook/{drawn(32, HEX)}/{_uuid()}"
CREDENTIALS: Final = {
    "webhook of Slack": f"https://hooks.slack.com/services/T{drawn(8)}/B{drawn(8)}/{drawn(24)}",
    "workflow of Slack": f"https://hooks.slack.com/workflows/T{drawn(8)}/A{drawn(8)}/{drawn(18, HEX)}/{drawn(24)}",
    "webhook of Discord": f"https://discord.com/api/webhooks/{drawn(18, string.digits)}/{drawn(68)}",
    "webhook of Discord's API": f"https://canary.discord.com/api/v10/webhooks/{drawn(19, string.digits)}/{drawn(68)}",
    "webhook of Teams": TEAMS,
    "shared access signature": f"{SAS}{drawn(20)}%2F{drawn(9)}%2b{drawn(12)}%3D",
    "shared access signature of a bus": f"SharedAccessSignature sr=x&sig={drawn(43)}%3D&se=1700000000&skn=Root",
    "function's address": f"https://shop.azurewebsites.net/api/run?code={drawn(54)}==",
    "signed address": f"https://storage.googleapis.com/shop/file?X-Goog-Signature={drawn(512, HEX)}",
    "login in a header": f"Authorization: Basic {base64.b64encode(f'shop:{drawn(9)}'.encode()).decode()}",
    "login after a scheme": f"Basic {base64.b64encode(f'shop:{drawn(9)}'.encode()).decode()}",
    "netrc": "machine api.example.com\n  login shop\n  password correct-horse\n",
    "netrc on a line": "default login shop password hunter2-x",
    "npmrc": f"//registry.example.com/:_authToken={_uuid()}",
    "npmrc with a login": f"_auth={base64.b64encode(f'shop:{drawn(9)}'.encode()).decode()}",
    "token of a bot": f"{drawn(10, string.digits)}:AA{drawn(33)}",
    "address of a bot": f"https://api.telegram.org/bot{drawn(10, string.digits)}:AA{drawn(33)}/sendMessage",
    "token of Slack's apps": f"xapp-1-A{drawn(10, string.ascii_uppercase)}-{drawn(13, string.digits)}-{drawn(64, HEX)}",
    "token for a tunnel": base64.b64encode(
        f'{{"a":"{drawn(32, HEX)}","t":"{_uuid()}","s":"{drawn(44)}"}}'.encode()
    ).decode(),
    "session of a cloud": f"IQoJb3JpZ2luX2Vj{drawn(300)}==",
    "token of OpenShift": f"sha256~{drawn(43)}",
    "token of GitLab": f"glffct-{drawn(20)}",
    "token of DigitalOcean": f"doo_v1_{drawn(64, HEX)}",
    "key of New Relic": f"{drawn(36, HEX)}FFFFNRAL",
    "key of Mailchimp": f"{drawn(32, HEX)}-us12",
    "key of PuTTY": f"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\n{drawn(48)}\n",
}
HARMLESS: Final = {
    "words after Basic": "Basic authentication is off; Basic configuration, Basic requirements12",
    "words in base64 after Basic": f"Basic {base64.b64encode(b'only-words-here').decode()}",
    "a variable in netrc": "machine api.example.com login shop password ${TOKEN}",
    "prose of a login": "the default login page has a password field",
    "code": "_auth = self._build_auth()\nsig=signature_of(text)\n",
    "digest": f"sha256:{drawn(64, HEX)} sha256-{drawn(43)}=",
    "region": f"{drawn(32, HEX)}-us-east-1",
    "another's signature": f"sig={drawn(86)}",
    "hash in a name": f"secret-{drawn(10, HEX)} token-{drawn(5, HEX)} kubeconfig-{drawn(10, HEX)}",
    "blanked": "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
}  # fmt: skip


@pytest.mark.parametrize("text", CREDENTIALS.values(), ids=CREDENTIALS)
def test_a_credential_is_known_by_its_form_alone(text: str) -> None:
    for whole in (text, f"settings:\n  {text}\n", json.dumps({"x": text})):
        assert may_hold_shape(whole.encode())
        assert list(shapes(whole.encode()))
        assert is_credential(whole)


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_what_only_looks_like_one_is_none(text: str) -> None:
    assert [shape.kind for shape in shapes(text.encode())] == []


@pytest.mark.parametrize("form", SIGNATURES, ids=lambda form: form.words[0].decode())
def test_what_a_form_matches_has_one_of_its_words(form: Signature) -> None:
    """Else it would never be found: the word is looked for first."""

    @given(st.from_regex(form.pattern))
    @settings(max_examples=20, deadline=None)
    def check(data: bytes) -> None:
        assert any(word in data.lower() for word in form.words)

    check()


@pytest.mark.parametrize("start", TOKENS)
def test_a_token_of_each_service_is_found(start: bytes) -> None:
    """Also where another one begins alike."""
    kind, form = TOKENS[start]

    @given(st.from_regex(form, fullmatch=True))
    @settings(max_examples=10, deadline=None)
    def check(token: bytes) -> None:
        data = b"x: " + token + b"\n"
        assert (kind, token) in {(found, match[0]) for found, match in matches(data, data.lower())}

    check()
