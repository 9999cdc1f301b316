"""`hosted-mesh diff` on programs in small repositories, each run for real, as a user calls it."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hosted_mesh_analysis.diff.command import app
from hosted_mesh_analysis.diff.result import Difference, Property, Stack, StackChange, Step, Value
from hosted_mesh_analysis.diff.saved import as_json, from_json, from_tree
from hosted_mesh_analysis.diff.supervised import masked, masks
from hosted_mesh_analysis.diff.trees import Why
from typer.testing import CliRunner

from sandbox.bootstrap import CHECKOUT
from tests.corpus import literals
from tests.support.waiting import eventually
from tests.unit.analysis.diff.repositories import (
    BEGINNING,
    CONTROL_PLANE,
    DATA_PLANE,
    difference,
    git,
    only,
    project,
    repository,
    resources,
    run,
    values,
    write,
)

PLAIN = 'config_map("app", {"x": "one"}, data_plane)'


def test_what_an_update_would_do_is_told_cluster_by_cluster(tmp_path: Path) -> None:
    before = """
config_map("kept", {"a": "1"}, control_plane)
config_map("gone", {"a": "1"}, control_plane)
config_map("app", {"x": "one", "left": "out"}, data_plane)
binding = {"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "view"}}
made("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", "bound", binding, data_plane)
made("aws:s3/bucket:Bucket", "files", {"acl": "private"})
made("random:index/randomPassword:RandomPassword", "password", {"length": 20})
pulumi.export("host", "a.example.com")
"""
    after = """
config_map("kept", {"a": "1"}, control_plane)
config_map("new", {"a": "1"}, control_plane)
config_map("app", {"x": "two", "y": ["more"]}, data_plane, protect=True)
binding = {"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "admin"}}
made("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", "bound", binding, data_plane)
made("aws:s3/bucket:Bucket", "files", {"acl": "public-read"})
made("random:index/randomPassword:RandomPassword", "password", {"length": 24})
pulumi.export("host", "b.example.com")
"""
    folder = repository(tmp_path / "repository", project(before), {"__main__.py": BEGINNING + after})
    done = run(folder, "--base", "main", "--exit-code", "--json", "--output", str(tmp_path / "diff.json"))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    shown = CliRunner().invoke(app, ["--from", str(tmp_path / "diff.json")])
    assert shown.exit_code == 0
    commit = git(folder, "rev-parse", "main")[:10]
    assert (
        shown.stdout
        == f"""\
stack dev
  replaces: RoleBinding b is deleted and made again because roleRef.name changes
  replaces: RandomPassword password is deleted and made again because length changes
  touches: data plane {DATA_PLANE}
  control plane {CONTROL_PLANE}
  - ConfigMap gone
  + ConfigMap new
      data.a: "1"
      metadata.name: "new"
      metadata.namespace: "shop"
  data plane {DATA_PLANE}
  +- RoleBinding bound (replaced: roleRef.name)
      roleRef.name: "view" -> "admin"
  ~ ConfigMap app
      (protect): true (added)
      data.left: "out" (removed)
      data.x: "one" -> "two"
      data.y[0]: "more" (added)
  other: aws (default provider)
  ~ Bucket files
      acl: "private" -> "public-read"
  nowhere (keys, passwords and the like)
  +- RandomPassword password (replaced: length)
      length: 20 -> 24
  outputs
  ~ host: "a.example.com" -> "b.example.com"
1 stack differs from main ({commit})
"""
    )


def test_only_stacks_that_change_are_shown_and_new_and_removed_ones_are_told(tmp_path: Path) -> None:
    program = """
config_map("app", {"replicas": config.get("replicas"), "region": pulumi.Config("aws").get("region")}, data_plane)
"""
    stacks = {"dev": "config: {shop:replicas: 1}", "old": "{}", "prod": "config: {shop:replicas: 2}", "same": "{}"}
    after = {
        "Pulumi.dev.yaml": "config: {shop:replicas: 3}",
        "Pulumi.old.yaml": None,
        "Pulumi.prod.yaml": "config: {shop:replicas: 2, shop:more: 1, aws:region: eu-west-1, "
        f"aws:token: {PASSWORD}, db:password: hunter2}}",
        "Pulumi.third.yaml": "{}",
    }
    folder = repository(tmp_path / "repository", project(program, stacks), after)
    found = difference(folder)
    assert {one.name: one.state for one in found.stacks} == {
        "dev": StackChange.CHANGED,
        "old": StackChange.REMOVED,
        "prod": StackChange.CHANGED,
        "same": StackChange.UNCHANGED,
        "third": StackChange.NEW,
    }
    dev, old, prod, third = found.shown
    assert values(resources(dev)["app"].properties) == {"data.replicas": ("1", "3")}
    names = ["app", "control-plane-cluster", "data-plane-cluster"]
    assert sorted((one.step, one.name) for one in old.changes) == [(Step.REMOVED, name) for name in names]
    assert sorted((one.step, one.name) for one in third.changes) == [(Step.MADE, name) for name in names]
    assert values(prod.configuration) == {
        "aws:region": (None, "eu-west-1"),
        "aws:token": (None, "<secret by its form>"),
        "db:password": (None, "<secret by its form>"),
    }
    done = run(folder, "--base", "main", "--stack", "same", "--stack", "organization/shop/dev")
    assert (done.returncode, done.stderr) == (0, "")
    assert "stack same" not in done.stdout
    assert done.stdout.endswith(f"1 stack differs from main ({git(folder, 'rev-parse', 'main')[:10]}), 1 unchanged\n")


def test_what_moves_to_another_cluster_is_the_first_line(tmp_path: Path) -> None:
    """Also to that of the default provider, and where the provider's own server is another one."""
    before = """
config_map("app", {"x": "y"}, data_plane)
config_map("lone", {"x": "y"}, data_plane)
config_map("carried", {"x": "y"}, cluster("third", "https://third.example.com:6443"))
"""
    after = before.replace("third.example", "fourth.example").replace('"y"}, data_plane', '"y"}, control_plane', 1)
    after = after.replace('"y"}, data_plane', '"y"}, None')
    folder = repository(tmp_path / "repository", project(before), {"__main__.py": BEGINNING + after})
    done = run(folder, "--base", "main")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("3 resources move to another cluster\n")
    assert f"  +- ConfigMap app (moves to control plane {CONTROL_PLANE})\n" in done.stdout
    for name in ("app", "lone", "carried"):
        assert done.stdout.count(f"+- ConfigMap {name} (moves ") == 2


def test_nothing_that_differs_is_one_line(tmp_path: Path) -> None:
    folder = repository(tmp_path / "repository", project(PLAIN), {"README.md": "more\n"})
    done = run(folder, "--exit-code")
    commit = git(folder, "rev-parse", "main")[:10]
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"nothing differs from {commit}, where it left main: 1 stack compared\n"


def test_what_no_update_makes_is_no_resource(tmp_path: Path) -> None:
    """What is read only, and the objects on which a chart's transforms are tried."""
    program = """
import pulumi_kubernetes as k8s
def add(args):
    if "data" in args.props:
        return pulumi.ResourceTransformResult({**args.props, "data": {"x": "COLOUR"}}, args.opts)
options = {"opts": pulumi.ResourceOptions(provider=data_plane, transforms=[add])}
def chart(name):
    k8s.helm.v4.Chart(name, chart="shop", version="1.0.0", **options)
"""
    before = program.replace("COLOUR", "blue") + "chart('shop')"
    after = (
        program.replace("COLOUR", "green")
        + """
chart('shop')
chart('more')
k8s.core.v1.ConfigMap.get("old", "shop/old", opts=pulumi.ResourceOptions(provider=data_plane))
"""
    )
    folder = repository(tmp_path / "repository", project(before), project(after))
    changed = resources(only(difference(folder)))
    assert {name: one.step for name, one in changed.items()} == {"shop (tried)": Step.CHANGED, "more": Step.MADE}
    assert values(changed["shop (tried)"].properties) == {"data.x": ("blue", "green")}


# What is secret ---------------------------------------------------------------------------------------------------

SECRETS = """
import pulumi_random as random, pulumi_tls as tls

def disguised(text):
    return {
        "plain": text,
        "base64": base64.b64encode(text.encode()).decode(),
        "reversed": text[::-1],
        "hex": text.encode().hex(),
        "inside": f"postgres://shop:{text}@db.example.com/VERSION",
    }

def told(text):
    with open(os.environ["SEEN"], "a") as file:
        file.write(json.dumps(text) + chr(10))
    return text

other = pulumi.StackReference("organization/other/prod")
secrets = {
    "configured": config.require_secret("token"),
    "marked": config.require_secret("plain"),
    "generated": random.RandomPassword("of-20", length=LENGTH).result,
    "key": tls.PrivateKey("of-p256", algorithm="ECDSA", ecdsa_curve="CURVE").private_key_pem,
    "other": other.require_output("OUTPUT"),
    "file": pulumi.Output.from_input(pathlib.Path("login").read_text()),
    "environment": pulumi.Output.from_input(os.environ["DB_PASSWORD"]),
}
for name, secret in secrets.items():
    config_map(name, secret.apply(told).apply(disguised), data_plane)
    pulumi.export(name, secret.apply(lambda text: text[::-1]))
token = secrets["configured"].apply(told)
config_map("keys", token.apply(lambda text: {text: "VERSION", "more": text[:1] + "VERSION"}), data_plane)
token.apply(lambda text: config_map(f"named-{text}", {"version": "VERSION"}, data_plane))
pulumi.export("marked too", pulumi.Output.secret("marked VERSION"))
"""
LOGIN = {name: literals.token({"sub": "shop", "jti": name}) for name in ("first", "second")}
"""What stands in a file of the repository."""
PASSWORD = "kq7zw93ka0ck2tbn4xhd81mv"
"""What the environment has."""


def _with_secrets(version: str, length: int, curve: str, output: str) -> dict[str, str]:
    program = SECRETS.replace("VERSION", version).replace("LENGTH", str(length))
    files = project(program.replace("CURVE", curve).replace("OUTPUT", output))
    plain = f"config: {{shop:plain: {{default: {PASSWORD[::-1]}{version}, secret: true}}}}\n"
    configured = f"config: {{shop:token: {{secure: v1:{version}}}}}\n"
    return files | {
        "Pulumi.yaml": files["Pulumi.yaml"] + plain,
        "Pulumi.dev.yaml": configured,
        "login": LOGIN[version],
    }


def test_a_secret_never_appears_and_that_it_changes_is_told(tmp_path: Path) -> None:
    before = _with_secrets("first", 20, "P256", "password")
    folder = repository(tmp_path / "repository", before, _with_secrets("second", 24, "P384", "token"))
    found = difference(folder, SEEN=str(tmp_path / "seen"), DB_PASSWORD=PASSWORD)
    stack = only(found)
    changed = resources(stack)
    hidden = {f"data.{how}": ("<secret>", "<secret>") for how in ("plain", "base64", "reversed", "hex", "inside")}
    for name in ("configured", "marked", "generated", "key", "other", "file"):
        assert values(changed[name].properties) == hidden, name
    # The machine's own is the same for both: only what the program writes around it has changed.
    assert values(changed["environment"].properties) == {"data.inside": ("<secret>", "<secret>")}
    assert values(changed["keys"].properties) == {
        'data["…"]': ("<secret>", "<secret>"),
        "data.more": ("<secret>", "<secret>"),
    }
    unnamed = changed["(hidden)"]
    assert (unnamed.step, unnamed.count, unnamed.properties) == (Step.CHANGED, 1, ())
    told = values(stack.outputs)
    assert set(told) == {"configured", "marked", "generated", "key", "other", "file", "marked too"}
    assert set(told.values()) == {("<secret>", "<secret>")}
    assert values(stack.configuration)["shop:token"] == ("<encrypted>", "<encrypted>")
    _holds_nothing_of(_written(folder, tmp_path), (tmp_path / "seen").read_text())


def _written(folder: Path, tmp_path: Path) -> str:
    """All that it prints, in each form."""
    saved = tmp_path / "diff.json"
    done = run(folder, "--base", "main", "--json", "--output", str(saved), SEEN="/dev/null", DB_PASSWORD=PASSWORD)
    shown = [CliRunner().invoke(app, ["--from", str(saved), *form]).stdout for form in ([], ["--markdown"])]
    return "\n".join([saved.read_text(), *shown, done.stdout, done.stderr])


def _holds_nothing_of(written: str, seen: str) -> None:
    made_up = {json.loads(line) for line in seen.splitlines()}
    assert len(made_up) >= 7 * 2
    real = {*LOGIN.values(), PASSWORD, PASSWORD[::-1]}
    assert not made_up & real, "a run has seen a secret of this machine"
    for secret in made_up | real:
        encoded = secret.encode()
        for text in (secret, secret[::-1], encoded.hex(), base64.b64encode(encoded).decode(), json.dumps(secret)[1:-1]):
            assert text not in written


def test_no_process_above_a_program_has_a_secret_of_the_machine_to_read(tmp_path: Path) -> None:
    """Its own environment and that of the process that started it are there to read, with others in their place; of
    those above, the shell that called the command among them, none is, for root neither."""
    program = """
text, readable, above = "", 0, os.getpid()
while above:
    try:
        text += pathlib.Path(f"/proc/{above}/environ").read_text()
        readable += 1
    except OSError:
        pass
    above = int(pathlib.Path(f"/proc/{above}/stat").read_text().rpartition(")")[2].split()[1])
pulumi.export("variables", sorted(one[::-1] for one in text.split(chr(0)) if one[:5] in {"DB_PA", "PULUM", "MIRRO"}))
pulumi.export("readable", readable)
pulumi.export("version", "VERSION")
"""
    folder = repository(tmp_path / "repository", {"README.md": "none"}, project(program))
    variables = {"DB_PASSWORD": PASSWORD, "PULUMI_CONFIG_PASSPHRASE": PASSWORD[::-1]}
    variables["MIRROR"] = f"https://shop:{PASSWORD}@mirror.example.com"  # known by its form alone
    done = run(folder, "--base", "main", "--json", **variables)
    assert (done.returncode, done.stderr) == (0, "")
    told = values(only(from_json(done.stdout)).outputs)
    assert told["version"] == (None, "VERSION")
    assert sum(key.startswith("variables") for key in told) >= 5, "it sees its own and its parent's"
    assert told["readable"] == (None, 2)
    assert (None, "<a secret of this machine>") not in told.values()
    assert PASSWORD not in done.stdout and PASSWORD[::-1] not in done.stdout


def test_a_python_that_the_change_brings_runs_without_network_too(tmp_path: Path) -> None:
    files = project(PLAIN) | {
        "Pulumi.yaml": "name: shop\nruntime: {name: python, options: {virtualenv: own}}\n",
        "own/bin/python": f'#!/bin/sh\nreadlink /proc/self/ns/net >> {tmp_path}/seen\nexec {sys.executable} "$@"\n',
    }
    folder = repository(tmp_path / "repository", {"README.md": "none"}, files)
    (folder / "own/bin/python").chmod(0o700)
    assert only(difference(folder)).state is StackChange.NEW
    (seen,) = set((tmp_path / "seen").read_text().split())
    assert seen != str(Path("/proc/self/ns/net").readlink())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DB_PASSWORD", PASSWORD),
        ("LOGIN_TOKENS", f"first line of several\nnext: {PASSWORD}\n"),
        ("MIRROR", f"https://shop:{PASSWORD}@mirror.example.com"),
    ],
    ids=["by name", "a part", "by form"],
)
@pytest.mark.parametrize("how", ["{}", "postgres://a:{}@b", "REVERSED", "BASE64"])
def test_what_a_program_finds_elsewhere_of_the_machines_secrets_is_masked(how: str, name: str, value: str) -> None:
    for offset in range(3):
        text = {
            "REVERSED": PASSWORD[::-1],
            "BASE64": base64.b64encode(("x" * offset + PASSWORD + "y").encode()).decode(),
        }.get(how, how.format(PASSWORD))
        stack = Stack("dev", StackChange.CHANGED, notes=[text], outputs=[Property(text, None, Value(text))])
        needles = masks({name: value, "COLOUR": "blue-and-green", "API_TOKEN": "short"})
        found = from_tree(masked(json.loads(as_json(Difference("main", [stack]))), needles))
        assert found.stacks[0].outputs == [Property("(a secret of this machine)", None, Value(hidden=Why.MACHINE))]
        assert found.stacks[0].notes == ["(a secret of this machine)"]
    assert masked(["blue-and-green", "short"], needles) == ["blue-and-green", "short"]


def test_a_credential_in_the_programs_text_is_not_shown(tmp_path: Path) -> None:
    kept = [literals.credentials()[name] for name in sorted(literals.credentials())]
    before, after = (
        [literals.private_key(name), literals.kubeconfig(CONTROL_PLANE, literals.opaque(name, 40)), *texts]
        for name, texts in (("old", kept[::2]), ("new", kept[1::2]))
    )
    password = {"old": literals.opaque("old password"), "new": literals.opaque("new password")}

    def program(texts: list[str], version: str) -> str:
        data = {f"value-{place}": text for place, text in enumerate(texts)}
        return f"""
config_map("app", {data!r}, data_plane)
config_map("kept", {{"colour": {version!r}}}, data_plane, kind="Secret")
config_map("by-name", {{"password": {password[version]!r}, "colour": {version!r}}}, data_plane)
config_map("key", {{{texts[-1]!r}: {version!r}}}, data_plane)
config_map({texts[-1]!r}, {{"x": {version!r}}}, data_plane)
pulumi.export("login", {texts[-1]!r})
"""

    folder = repository(tmp_path / "repository", project(program(before, "old")), project(program(after, "new")))
    stack = only(difference(folder))
    changed = resources(stack)
    assert set(values(changed["app"].properties).values()) <= {
        ("<secret by its form>",) * 2,
        ("<secret by its form>", None),
        (None, "<secret by its form>"),
    }
    assert values(changed["by-name"].properties) == {
        "data.colour": ("old", "new"),
        "data.password": ("<secret by its form>",) * 2,
    }
    assert values(changed["key"].properties) == {'data["…"]': ("old", None)} | {'data["…"]': (None, "new")}
    assert values(changed["kept"].properties) == {"data.colour": ("<secret>", "<secret>")}
    assert values(stack.outputs) == {"login": ("<secret by its form>",) * 2}
    written = _written(folder, tmp_path)
    for text in (*before, *after, *password.values()):
        assert json.dumps(text)[1:-1][:60] not in written


def test_what_is_another_in_each_run_is_no_change(tmp_path: Path) -> None:
    program = """
import datetime, secrets, uuid
drawn = {"now": str(datetime.datetime.now()), "own": secrets.token_hex(16), "id": str(uuid.uuid4())}
config_map("app", drawn, data_plane)
config_map(f"at-{datetime.datetime.now():%f}", {"x": "y"}, data_plane)
pulumi.export("own", secrets.token_hex(8))
"""
    after = program.replace("import datetime", "# a line more\nimport datetime")
    folder = repository(tmp_path / "repository", project(program), {"__main__.py": BEGINNING + after})
    done = run(folder, "--base", "main")
    assert "nothing differs" in done.stdout, done.stdout
    write(folder, {"__main__.py": BEGINNING + after.replace("drawn,", "{**drawn, 'token': config.require('token')},")})
    write(folder, {"Pulumi.dev.yaml": "config: {shop:token: {secure: v1:abc}}"})
    changed = resources(only(difference(folder)))
    assert values(changed["app"].properties) == {"data.token": (None, "<secret>")}


# What a version is ------------------------------------------------------------------------------------------------


def test_a_library_that_lies_beside_the_program_is_the_bases_too(tmp_path: Path) -> None:
    files = {
        f"app/{name}": text
        for name, text in project("import shoplib\n" + PLAIN.replace('"one"', "shoplib.COLOUR")).items()
    }
    before = {**files, "library/shoplib.py": "COLOUR = 'blue'\n"}
    folder = repository(tmp_path / "repository", before, {"library/shoplib.py": "COLOUR = 'green'\n"})
    path = f"{folder / 'library'}:{':'.join(sys.path)}"
    found = difference(folder / "app", PYTHONPATH=path)
    assert values(resources(only(found))["app"].properties) == {"data.x": ("blue", "green")}


def test_where_a_version_lies_is_no_change_and_what_a_file_holds_is_one(tmp_path: Path) -> None:
    program = """
here = pathlib.Path(__file__).parent
config_map("app", {"x": str(here / "a" / "b.txt"), "y": f"file://{here}"}, data_plane)
rendered = pulumi.ProviderResource("kubernetes", "rendered", {"renderYamlToDirectory": str(here / "out")})
config_map("in-files", {"x": "y"}, rendered)
inputs = {"source": pulumi.FileAsset("page.html"), "all": pulumi.FileArchive(str(here / "site")), "key": "page"}
made("aws:s3/bucketObject:BucketObject", "page", inputs)
"""
    files = project(program)
    before = {**files, "app/__main__.py": files.pop("__main__.py"), "app/page.html": "old", "app/site/a.txt": "a"}
    before["Pulumi.yaml"] += "main: app\n"
    del before["__main__.py"]
    folder = repository(tmp_path / "repository", before, {"app/page.html": "new", "app/site/.venv/x": "y"})
    changed = resources(only(difference(folder)))
    assert {name: values(one.properties) for name, one in changed.items()} == {
        "page": {"source": ("<file page.html>", "<file page.html>")}
    }
    write(folder, {"app/page.html": "old", "app/site/b.txt": "b"})
    changed = resources(only(difference(folder)))
    assert values(changed["page"].properties) == {
        "all": ("<file (repository)/app/site>", "<file (repository)/app/site>")
    }


def test_a_stack_takes_the_outputs_of_another_one_of_the_project(tmp_path: Path) -> None:
    program = """
if pulumi.get_stack() == "network":
    pulumi.export("host", "HOST")
    pulumi.export("token", config.require_secret("token"))
else:
    other = pulumi.StackReference("organization/shop/network")
    config_map("app", {"host": other.require_output("host"), "token": other.require_output("token")}, data_plane)
    itself = pulumi.StackReference(f"organization/shop/{pulumi.get_stack()}")
    config_map("lonely", {"x": itself.get_output("x")}, data_plane)
"""
    stacks = {"app": "{}", "network": "config: {shop:token: {secure: v1:abc}}"}
    after = {"__main__.py": BEGINNING + program.replace("HOST", "b.example.com")}
    folder = repository(tmp_path / "repository", project(program.replace("HOST", "a.example.com"), stacks), after)
    app_stack, network = difference(folder).shown
    assert values(resources(app_stack)["app"].properties) == {"data.host": ("a.example.com", "b.example.com")}
    assert values(network.outputs) == {"host": ("a.example.com", "b.example.com")}
    write(folder, {"Pulumi.network.yaml": "config: {shop:token: {secure: v1:other}}"})
    found = difference(folder, "--stack", "app")
    assert values(resources(only(found))["app"].properties)["data.token"] == ("<secret>", "<secret>")


def test_a_resource_with_another_name_is_the_one_that_its_alias_says(tmp_path: Path) -> None:
    program = """
import pulumi_random as random
class Shop(pulumi.ComponentResource):
    def __init__(self, kind, name, **options):
        super().__init__(kind, name, {}, pulumi.ResourceOptions(**options))
        own = pulumi.ResourceOptions(parent=self)
        password = random.RandomPassword(f"{name}-password", length=20, opts=own)
        self.config = config_map("app", {"password": password.result}, data_plane, parent=self)
Shop("shop:index:Shop", "shop")
config_map("first", {"x": "y"}, data_plane)
"""
    after = program.replace(
        '"shop:index:Shop", "shop"',
        '"shop:index:Store", "store", aliases=[pulumi.Alias(type_="shop:index:Shop", name="shop")]',
    )
    after = after.replace(
        '"first", {"x": "y"}, data_plane', '"second", {"x": "z"}, data_plane, aliases=[pulumi.Alias(name="first")]'
    )
    folder = repository(tmp_path / "repository", project(program), {"__main__.py": BEGINNING + after})
    changed = resources(only(difference(folder)))
    assert {name: one.step for name, one in changed.items()} == {
        "store-password": Step.CHANGED,
        "second": Step.REPLACED,
    }
    assert values(changed["store-password"].properties) == {"(name)": ("shop-password", "store-password")}
    assert values(changed["second"].properties) == {
        "(name)": ("first", "second"),
        "data.x": ("y", "z"),
        "metadata.name": ("first", "second"),
    }


# What goes wrong --------------------------------------------------------------------------------------------------


def test_a_stack_that_cannot_be_run_is_undecided_and_the_others_are_shown(tmp_path: Path) -> None:
    program = """
token = config.get_secret("token")
def wrong(text):
    raise ValueError(f"{text[::-1]} is wrong")
if pulumi.get_stack() == "bad":
    raise ValueError(f"the port is wrong in {pathlib.Path(__file__).parent}")
if pulumi.get_stack() == "worse":
    token.apply(wrong)
config_map("app", {"x": "COLOUR"}, data_plane)
"""
    secret = "config: {shop:token: {secure: v1:abc}}"
    stacks = {"bad": "{}", "dev": "{}", "unreadable": "- a list", "worse": secret}
    before = project(program.replace("COLOUR", "blue"), stacks)
    folder = repository(tmp_path / "repository", before, project(program.replace("COLOUR", "green"), {}))
    done = run(folder, "--base", "main", "--exit-code", "--markdown")
    assert (done.returncode, done.stderr) == (2, "")
    assert '    data.x: "blue" -> "green"' in done.stdout
    assert "| `bad` | **not decided** | | | | |" in done.stdout
    line = len(BEGINNING.splitlines()) + 6
    said = f"the program ends with ValueError (__main__.py, line {line}): the port is wrong in (repository)"
    commit = git(folder, "rev-parse", "main")[:10]
    assert f"could not run: main ({commit}): {said}\ncould not run: the working tree: {said}\n" in done.stdout
    assert "could not run: the working tree: (repository)/Pulumi.unreadable.yaml: is not a mapping." in done.stdout
    assert "the program ends with an error that contains a secret or depends on one" in done.stdout
    assert done.stdout.count(" is wrong") == 2
    assert str(tmp_path) not in done.stdout


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.nightly),
    ],
)
def test_an_interrupted_run_leaves_nothing(number: signal.Signals, code: int, tmp_path: Path) -> None:
    program = "import time; pathlib.Path(os.environ['STARTED'], str(os.getpid())).touch(); time.sleep(300)"
    # A stack's base runs first, by itself: two stacks are two runs at once.
    folder = repository(tmp_path / "repository", project(program, {"a": "{}", "b": "{}"}), {"README.md": "more"})
    (own := tmp_path / "own").mkdir()
    (started := tmp_path / "started").mkdir()
    heard = ["env", f"--default-signal={number.name.removeprefix('SIG')}"]  # a job in the background hears no Ctrl-C
    command = [*heard, sys.executable, "-m", "hosted_mesh_analysis.diff.command", str(folder), "--base", "main"]
    environment = {**os.environ, "TMPDIR": str(own), "STARTED": str(started)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        eventually(lambda: len(list(started.iterdir())) == 2)
        (copy,) = own.iterdir()
        mode, has_program = oct(copy.stat().st_mode & 0o777), (copy / "__main__.py").is_file()
        process.send_signal(number)
        output, error = process.communicate(timeout=240)
    assert (mode, has_program) == ("0o700", True)
    assert (process.returncode, output) == (code, "")
    assert error == ("interrupted: nothing is compared\n" if number == signal.SIGINT else "")
    assert list(own.iterdir()) == []
    for one in started.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(one.name), 0)


def test_help_teaches() -> None:
    shown = " ".join(CliRunner().invoke(app, ["--help"], terminal_width=200).stdout.split())
    for part in (
        "Exit code 0: done.",
        "--base",
        "hosted-mesh diff --from diff.json --markdown",
        "No engine, login, cluster or credential is",
        "the report shows [secret], and",
    ):
        assert part in shown
    assert "\\" not in shown


def test_the_repository_is_left_as_it_is(tmp_path: Path) -> None:
    folder = repository(tmp_path / "repository", project(PLAIN), {"new.txt": "not added"})
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        path = folder / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {tmp_path}/{hook}\n")
        path.chmod(0o700)

    def everything() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}

    before = everything()
    assert run(folder, "--base", "main").returncode == 0
    assert everything() == before
    assert [path.name for path in tmp_path.iterdir()] == ["repository"]


def test_what_is_left_out_of_archives_is_there(tmp_path: Path) -> None:
    files = project(PLAIN + '\npulumi.export("commit", "$Format:%H$")')
    before = files | {".gitattributes": "Pulumi.dev.yaml export-ignore\n__main__.py export-subst\n"}
    folder = repository(tmp_path / "repository", before, {"new.txt": "x"})
    found = difference(folder)
    assert [(one.name, one.state) for one in found.stacks] == [("dev", StackChange.UNCHANGED)]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a branch and a folder of one name, and a file that is too long. Mistakes leave it as it is."""
    folder = repository(tmp_path_factory.mktemp("both"), project(PLAIN), {"both/x": "y"})
    git(folder, "branch", "both")
    with (folder / "long.json").open("wb") as file:
        file.truncate(1024**3)
    return folder


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--base", "nothing"], "--base nothing: is neither a commit of this repository nor a folder. Give a commit"),
        (["--base=--output=x"], "--base --output=x: is neither a commit"),
        (["--base", ""], "--base: is empty; a variable may not be set. Give a commit, a branch or a folder"),
        (["--base", "."], "--base .: is the project itself. Give a commit"),
        (["--base", "main\n"], "is neither a commit"),
        (["--base", "a\x00b"], "is neither a commit"),
        (["--base", "x" * 300], "is neither a commit"),
        (["--base", "both"], "--base both: is a commit and a folder. Write ./both or refs/heads/both"),
        (["--base", "./both"], "--base ./both: has no Pulumi.yaml. Give the folder of the project's other version"),
        (
            ["--base", "main", "--stack", "prod"],
            "--stack prod: neither version has its file; the stacks with files are dev",
        ),
        (["--markdown", "--json"], "--markdown and --json exclude each other"),
        (["--from", "x", "--base", "main"], "--from: compares nothing"),
        (["--from", "long.json"], "long.json: is longer than 16,777,216 bytes. Compare fewer stacks at once"),
        (["--from", "/nothing/x.json"], "/nothing/x.json: cannot be read (No such file or directory). Write it with"),
        (["--output", "/nothing/x"], "--output /nothing/x: cannot be written"),
        (["--control-plane", "https://[::1"], "--control-plane https://[::1: is no address"),
        (["--stack-outputs", "x"], "--stack-outputs: is not STACK=FILE"),
    ],
)
def test_a_mistake_is_one_line_on_standard_error(
    options: list[str], said: str, both: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(both)
    done = CliRunner().invoke(app, options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_where_no_base_can_be_found_one_is_asked_for(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    write(plain, project(PLAIN))
    done = CliRunner().invoke(app, [str(plain)])
    assert (done.exit_code, done.stderr) == (2, f"{plain}: is in no git repository. Give a folder as --base\n")
    folder = repository(tmp_path / "repository", project(PLAIN), {})
    git(folder, "checkout", "--quiet", "--orphan", "other")
    git(folder, "commit", "--quiet", "--message", "apart")
    done = CliRunner().invoke(app, [str(folder)])
    assert "--base: HEAD has no common commit with main; a clone may be too shallow. Fetch more" in done.stderr
    git(folder, "branch", "--quiet", "--delete", "--force", "main")
    done = CliRunner().invoke(app, [str(folder)])
    assert "--base: git has no default branch here. Give a commit, a branch or a folder" in done.stderr
    (folder / ".git" / "HEAD").unlink()
    for options in ([], ["--base", "main"]):
        done = CliRunner().invoke(app, [str(folder), *options])
        assert f"{folder}: git does not read this repository. `git status` shows the reason;" in done.stderr
    done = CliRunner().invoke(app, [str(plain), "--base", "main"])
    assert "is in no git repository. Give a folder as --base" in done.stderr
    done = CliRunner().invoke(app, [str(tmp_path)])
    assert "Pulumi.yaml: does not exist. Give the folder of a Pulumi project" in done.stderr


def test_a_new_project_is_all_new_and_a_folder_may_be_the_base(tmp_path: Path) -> None:
    after = {f"app/{name}": text for name, text in project(PLAIN).items()}
    folder = repository(tmp_path / "repository", {"README.md": "none yet"}, after)
    stack = only(found := difference(folder / "app"))
    assert (stack.state, resources(stack)["app"].step) == (StackChange.NEW, Step.MADE)
    assert found.notes == ["the base has no project in this folder"]
    write(tmp_path / "before" / "app", project(PLAIN.replace("one", "none")))
    done = run(folder / "app", "--base", str(tmp_path / "before" / "app"))
    assert (done.returncode, done.stderr) == (0, "")
    assert '    data.x: "none" -> "one"' in done.stdout
    assert done.stdout.endswith(f"1 stack differs from {tmp_path / 'before' / 'app'}\n")


# The project's own ------------------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_a_changed_document_is_told_in_each_of_the_librarys_stacks(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    for path in ("Pulumi.yaml", "__main__.py"):
        write(folder, {path: (CHECKOUT / path).read_text()})
    shutil.copytree(CHECKOUT / "stacks", folder / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    document = (folder / "stacks" / "example.mesh.yaml").read_text()
    after = document.replace("203.0.113.0/24", "198.51.100.0/24").replace("1.31.1", "1.31.2")
    repository(folder, {}, {"stacks/example.mesh.yaml": after})
    options = [f"--stack={name}" for name in ("trust", "control-plane", "data-plane")]
    found = difference(folder, *options)
    assert {one.name: one.state for one in found.stacks} == {
        "control-plane": StackChange.CHANGED,
        "data-plane": StackChange.CHANGED,
        "trust": StackChange.UNCHANGED,
    }
    there, here = found.shown
    assert [(cluster.side, cluster.name) for cluster in there.by_cluster()] == [
        ("control plane", "https://api.control-plane.example.com:6443")
    ]
    exposed, chart = resources(there)["demo-istiod-exposed-demo"], resources(there)["demo-istiod"]
    assert values(exposed.properties) == {"spec.loadBalancerSourceRanges[0]": ("203.0.113.0/24", "198.51.100.0/24")}
    assert values(chart.properties) == {"version": ("1.31.1", "1.31.2")}
    # The data plane's stack knows of it by the outputs of the other one.
    assert [(cluster.side, cluster.name) for cluster in here.by_cluster()] == [
        ("data plane", "https://api.data-plane.example.com:6443")
    ]
    assert values(resources(here)["demo-remote"].properties) == {"version": ("1.31.1", "1.31.2")}
