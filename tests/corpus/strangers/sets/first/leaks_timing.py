"""Leaks by time: the second update, no preview, values that only the update knows, the user's object first."""

from __future__ import annotations

import base64
import json

import pulumi

from tests.corpus.strangers.codings import CODINGS
from tests.corpus.strangers.recover import each
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak

SECOND, UNSEEN, LATE = "second update", "no preview", "known only in the update"


def _password(scene: Scene, *, name: str = "admin") -> pulumi.Output[str]:
    value: pulumi.Output[str] = scene.password("cp", name).output("result")
    scene.secret("cp", name, {"password": value})
    return value


def _honest(scene: Scene) -> None:
    _password(scene)
    scene.config_map("dp", "app", {"host": "istiod.example.com"})


@leak(
    SECOND,
    "known-since-the-first",
    "The password is known since the first update; the second gives it away.",
    SECOND,
    before=_honest,
)
def _(scene: Scene) -> None:
    scene.config_map("dp", "app", {"host": "istiod.example.com", "auth": _password(scene)})


@leak(
    SECOND,
    "known-and-coded",
    "The same under base85, in a Secret.",
    SECOND,
    before=_honest,
    recover=each(base64.b85decode),
)
def _(scene: Scene) -> None:
    text = _password(scene).apply(lambda found: base64.b85encode(found.encode()).decode())
    scene.secret("dp", "app", {"auth": text})


@leak(
    SECOND,
    "known-and-unmarked",
    "The same without its mark, under base58.",
    SECOND,
    before=_honest,
    recover=each(CODINGS["base58"][1]),
)
def _(scene: Scene) -> None:
    text = _password(scene).apply(lambda found: CODINGS["base58"][0](found.encode()).decode())
    scene.secret("dp", "app", {"auth": pulumi.Output.unsecret(text)})


@leak(
    SECOND,
    "made-inside-apply-again",
    "An object made inside apply has the value without any dependency.",
    SECOND,
    before=_honest,
    recover=each(lambda text: text[::-1]),
)
def _(scene: Scene) -> None:
    _password(scene).apply(lambda found: scene.secret("dp", "late", {"auth": found[::-1]}))


@leak(
    SECOND,
    "status-known-since-the-first",
    "A status of the provider's is known by now; its token goes on.",
    SECOND,
    before="the same",
)
def _(scene: Scene) -> None:
    made = scene.answered("cp", "example.com/v1:Widget", "w", {"spec": {}}, status={"auth": scene.cp.opaque("w")})
    scene.secret("dp", "app", {"auth": made.output("status").apply(lambda status: status["auth"])})


@leak(
    SECOND,
    "cloud-secret-known-since-the-first",
    "The account's key is known by now, and goes on.",
    SECOND,
    before="the same",
)
def _(scene: Scene) -> None:
    answers = {"secret": scene.cp.opaque("key", 40), "accessKeyId": "AKIAEXAMPLE"}
    made = scene.made("aws:iam/accessKey:AccessKey", "robot", {"user": "robot"}, None, answers, ["secret"], owner="cp")
    scene.secret("dp", "app", {"value": made.output("secret")})


@leak(
    UNSEEN,
    "unseen-config-map",
    "Run without a preview: a generated password goes to a ConfigMap.",
    UNSEEN,
    at="update",
    unseen=True,
)
def _(scene: Scene) -> None:
    scene.config_map("dp", "app", {"auth": _password(scene)})


@leak(
    UNSEEN,
    "unseen-and-first",
    "The user's object is written first, the provider's Secret after it.",
    UNSEEN,
    at="update",
    unseen=True,
)
def _(scene: Scene) -> None:
    value = scene.password("cp", "admin").output("result")
    first = scene.config_map("dp", "app", {"auth": value})
    scene.secret("cp", "admin", {"password": value}, depends_on=[first])


@leak(
    UNSEEN,
    "unseen-first-and-unmarked",
    "The same, and the mark is off: a reversed password stands in the user's ConfigMap.",
    UNSEEN,
    at="update",
    unseen=True,
    recover=each(lambda text: text[::-1]),
)
def _(scene: Scene) -> None:
    value = scene.password("cp", "admin").output("result")
    text = pulumi.Output.unsecret(value.apply(lambda found: found[::-1]))
    first = scene.config_map("dp", "app", {"auth": text})
    scene.secret("cp", "admin", {"password": value}, depends_on=[first])


@leak(
    UNSEEN,
    "unseen-cloud-key",
    "Run without a preview: an access key of the provider's account goes to the user.",
    UNSEEN,
    at="update",
    unseen=True,
)
def _(scene: Scene) -> None:
    answers = {"secret": scene.cp.opaque("key", 40)}
    made = scene.made("aws:iam/accessKey:AccessKey", "robot", {"user": "robot"}, None, answers, owner="cp")
    scene.config_map("dp", "app", {"value": made.output("secret")})


@leak(
    UNSEEN,
    "unseen-command",
    "Run without a preview: the provider's password is an argument of a command.",
    UNSEEN,
    at="update",
    unseen=True,
)
def _(scene: Scene) -> None:
    create = pulumi.Output.concat("kubectl --context user create secret generic x --from-literal=p=", _password(scene))
    scene.made("command:local:Command", "copy", {"create": create})


@leak(
    UNSEEN,
    "unseen-and-annotated",
    "Run without a preview, and said to be the user's own.",
    UNSEEN,
    at="update",
    unseen=True,
)
def _(scene: Scene) -> None:
    notes = {"hosted-mesh.io/data-plane-owned": "the user's own, honestly"}
    value = scene.password("cp", "admin").output("result")
    first = scene.secret("cp", "admin", {"password": value})
    scene.secret("dp", "app", {"auth": value}, depends_on=[first], annotations=notes)


@leak(
    LATE,
    "declassified-copy",
    "What is said to be a hash is the password itself, in pieces of another order.",
    LATE,
    at="either",
    recover=each(lambda t: t[12:] + t[:12]),
)
def _(scene: Scene) -> None:
    password = scene.password("cp", "admin").output("result")
    first = scene.secret("cp", "admin", {"password": password})
    value = password.apply(lambda found: found[12:] + found[:12])
    notes = {"hosted-mesh.io/declassify": "data.digest: a digest that restarts the Pods"}
    scene.config_map("dp", "app", {"digest": value}, depends_on=[first], annotations=notes)


@leak(
    LATE,
    "declassified-and-coded",
    "What is said to be a hash is the password under base85.",
    LATE,
    at="either",
    recover=each(base64.b85decode),
)
def _(scene: Scene) -> None:
    password = scene.password("cp", "admin").output("result")
    first = scene.secret("cp", "admin", {"password": password})
    value = password.apply(lambda found: base64.b85encode(found.encode()).decode())
    notes = {"hosted-mesh.io/declassify": "data.digest: a digest that restarts the Pods"}
    scene.config_map("dp", "app", {"digest": value}, depends_on=[first], annotations=notes)


@leak(
    LATE,
    "token-of-a-new-account",
    "The cluster mints a token during the update; it is given on as JSON.",
    LATE,
    at="either",
    recover=each(lambda t: json.loads(t)["token"].encode()),
)
def _(scene: Scene) -> None:
    data = {"token": base64.b64encode(scene.cp.jwt("robot").encode()).decode()}
    minted = scene.answered("cp", "v1:Secret", "robot", {"type": "kubernetes.io/service-account-token"}, data=data)
    text = minted.output("data").apply(lambda found: json.dumps({"token": base64.b64decode(found["token"]).decode()}))
    scene.secret("dp", "app", {"settings.json": text})


@leak(
    LATE,
    "key-of-an-existing-certificate",
    "cert-manager's Secret at the provider's is read and given to the user.",
    LATE,
    at="either",
)
def _(scene: Scene) -> None:
    made = scene.answered("cp", "cert-manager.io/v1:Certificate", "istiod", {"spec": {"secretName": "istiod-tls"}})
    data = {"tls.key": base64.b64encode(scene.cp.key("istiod").encode()).decode()}
    minted = scene.answered("cp", "v1:Secret", "istiod-tls", {"metadata": {"annotations": {"of": made.urn}}}, data=data)
    scene.object("dp", "v1:Secret", "istiod-tls", {"data": minted.output("data")})
