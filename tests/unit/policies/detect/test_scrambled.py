"""Generated passwords with punctuation in them are not taken for words, and what people write is."""

from __future__ import annotations

import random
import string

import pytest
from hosted_mesh_policies.detect.leaf.public_structure import is_public
from hosted_mesh_policies.detect.leaf.randomness import is_random

# The default alphabet of random.RandomPassword.
ALPHABET = string.ascii_letters + string.digits + "!@#$%&*()-_=+[]{}<>:?"


@pytest.mark.parametrize(("length", "most"), [(16, 0.08), (24, 0.01), (32, 0.002)])
def test_hardly_a_generated_password_looks_public(length: int, most: float) -> None:
    """Before, a seventh of those of 24 characters did: cut at their punctuation they are short words."""
    chance = random.Random(length)
    passwords = ["".join(chance.choices(ALPHABET, k=length)) for _ in range(5000)]
    assert sum(is_public(one.encode()) for one in passwords) <= most * len(passwords)


@pytest.mark.parametrize(
    "text",
    [
        "--set=global.proxy.image=proxyv2,pilot.env.PILOT_ENABLE_GATEWAY_API=true",
        "topology.kubernetes.io/zone in (eu-west-1a, eu-west-1b), app!=web",
        '{"meshConfig":{"accessLogFile":"/dev/stdout","enableTracing":false}}',
        "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$",
        "outbound|15443|v2|reviews.bookshop.svc.cluster.local",
        "https://istiod.demo.example.com:15017/inject/cluster/demo/net/demo",
        "x-envoy-max-retries=3; x-request-id=on; mTLS/xDS over gRPC (IPv4, IPv6)",
        "AuthorizedKeysCommand /usr/bin/keys %u %k\nAuthorizedPrincipalsFile /etc/ssh/%h/principals/%u",
        'log-format "%ci:%cp [%tr] %b/%s %TR/%Tw/%Tc %ST"',
        "Time_Format %Y-%m-%dT%H:%M:%S.%L%z",
        "#!/bin/sh\nset -eu\n",
        "EnvironmentFile=-/etc/default/%p\nExecStart=/usr/bin/agent --config=%E/agent.conf",
        "if string.match(path, '^/api/v1/.*') then",
        "#cloud-config\npackages:\n  - nginx\n",
        "export PATH=$PATH:$HOME/.pulumi/bin\ncurl $SOURCE/$index | tee $DEST\n",
        '{"dependencies": {"express": "^4.17.1", "left-pad": "~1.3"}}',
        '<?xml version="1.0"?>\n<settings><groupId>org.codehaus.mojo</groupId></settings>',
        "proxy_set_header X-Real-IP \\$remote_addr; # C++ and C#, !cancelled \u2014 \u2500\u2500\u2500",
    ],
)
def test_what_people_write_stays_public(text: str) -> None:
    assert is_public(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "AuthorizedPrincipalsFile /etc/ssh/%uK7vXw2mZx7Lk",
        "/etc/ssh/%u/Kq7vXw2mZx7LkW4nB9pY",
        "%4b%71%37%76%58%77%32%6d",
        "%aF%bC%dE%fA%bB%cC%dD%eE",
        "#!Kq7vXw2m/Zx7L#kW4nB9pY",
        "#Kq7vXw2mZx7LkW4nB9pY",
        "$HOME/Kq7vXw2mZx7LkW4nB9pY",
        "Kq7v$Xw2m$Zx7L$kW4n$B9pY",
        "^7Kq7vXw2mZx7LkW4nB9pY",
        "<password>Kq7vXw2mZx7LkW4nB9pY</password>",
        "\u2014\u2013\u2014\u2014\u2013\u2014\u2013\u2013",
    ],
)
def test_what_a_server_fills_in_hides_nothing(text: str) -> None:
    assert not is_public(text.encode())


@pytest.mark.parametrize(("length", "most"), [(20, 0.03), (28, 0.003), (40, 0.001)])
def test_hardly_a_token_of_small_letters_and_digits_looks_like_a_word(length: int, most: float) -> None:
    chance = random.Random(length)
    alphabet = string.ascii_lowercase + string.digits
    tokens = ["".join(chance.choices(alphabet, k=length)) for _ in range(5000)]
    assert sum(not is_random(one) for one in tokens) <= most * len(tokens)


@pytest.mark.parametrize("name", ["istio-ingressgateway", "x86kubernetes64", "http2protocol3", "k8s"])
def test_names_with_digits_stay_words(name: str) -> None:
    assert not is_random(name)
