"""Exported Services: looks, the offers of runs, and the order of exporter and importers. Without a cluster."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_controller.job import offers as job
from hosted_mesh_controller.store import offers, upkeep
from hosted_mesh_controller.vocabulary import State
from hosted_mesh_controller.work.offers import OfferReader
from hosted_mesh_controller.work.upkeep import Schedule

from tests.unit.controller.service import Service, documents

Config = dict[str, Any]
STAND_IN = """
import json, sys
from pathlib import Path
asked, answers = json.loads(sys.stdin.readline()), json.loads(Path(sys.argv[1]).read_text())
print(json.dumps([answers[one["mesh"]] for one in asked]))
"""


class Federated:
    """Two ordered meshes. West exports what labels select; east imports all of it."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.service, self.file = service, folder / "answers"
        self.reader = OfferReader(service.settings, service.database, [sys.executable, "-c", STAND_IN, str(self.file)])
        self.schedule = Schedule(service.settings, service.database, service.queue)

    def order(self, mesh: str, **more: Any) -> Config:
        return ordered(self.service, "acme", self.documents(mesh) | more)

    def documents(self, mesh: str) -> Config:
        found = documents("federations", "acme")
        found["member"]["mesh"] = mesh
        east, west = found["federation"]["peers"]
        audience = [{"mesh": "east", "identities": ["shop/*"]}]
        west["exports"] = [{"namespace": "shop", "labels": {"export": "yes"}, "to": audience}]
        east["imports"] = [{"meshes": ["west"], "namespace": "shop"}]
        return found

    def look(self, *names: str, away: bool = False) -> None:
        services = None if away else [service(name) for name in names]
        self.file.write_text(json.dumps({"west": services}))
        self.reader.look()

    def runs(self) -> list[str]:
        """Carries out the runs that are due, and returns their meshes and Services: those of one moment with a +."""
        done = []
        while made := self.schedule.look():
            rows = [self.operation(identifier) for identifier in made]
            assert {row["action"] for row in rows} == {"follow"}
            mesh = {row["id"]: row["name"].removeprefix("shops-") for row in rows}
            done.append(" + ".join(f"{mesh[one]} {' '.join(self.offered(one))}".strip() for one in made))
            for identifier in made:
                self.service.end(identifier, outputs={"hosts": self.offered(identifier)})
        return done

    def operation(self, identifier: str) -> Config:
        found: Config = self.service.call("acme", "GET", f"/v1/tenants/acme/operations/{identifier}").json()
        return found

    def offered(self, identifier: str) -> list[str]:
        """The Services of west in the documents of a run."""
        with self.service.database.reading() as connection:
            text = connection.exec_driver_sql(
                f"SELECT documents FROM operations WHERE id = '{identifier}'"
            ).scalar_one()
        (west,) = [one for one in json.loads(text)["offers"] if one["mesh"] == "west"]
        return [one["service"] for one in west["services"]]


def ordered(by: Service, tenant: str, body: Config) -> Config:
    """An order of the provider's, which needs no ordered mesh."""
    answer = by.call("provider", "POST", f"/v1/tenants/{tenant}/federations", body)
    assert answer.status_code == 202, answer.text
    made: Config = answer.json()
    return made


def service(name: str, **more: Any) -> Config:
    audience = [{"mesh": "east", "identities": ["shop/*"]}]
    found = {"namespace": "shop", "service": name, "port": 80, "protocol": "HTTP", "to": audience}
    return found | {"host": f"{name}.shop.shops.example.com"} | more


@pytest.fixture
def federated(tmp_path: Path) -> Federated:
    made = Federated(Service.make(tmp_path, operations=8, upkeep={"everySeconds": None}), tmp_path)
    for mesh in ("west", "east"):
        made.service.end(made.order(mesh)["id"])
    return made


def test_a_service_comes_first_at_its_exporter_and_goes_first_at_its_importer(federated: Federated) -> None:
    assert federated.runs() == []
    federated.look("cart")
    assert federated.runs() == ["west cart", "east cart"]
    assert federated.runs() == []
    federated.look("cart", "till")
    assert federated.runs() == ["west cart till", "east cart till"]
    federated.look("till")
    assert federated.runs() == ["east till", "west till"]
    federated.look("books")  # one comes and one goes: no moment without a gateway's route for a caller
    assert federated.runs() == ["west books till + east", "west books + east books"]


def test_changed_callers_reach_the_exporter_first(federated: Federated) -> None:
    federated.look("cart")
    federated.runs()
    federated.file.write_text(json.dumps({"west": [service("cart", to=[])]}))
    federated.reader.look()
    assert federated.runs() == ["west cart", "east cart"]


def test_a_cluster_that_is_away_keeps_its_offer(federated: Federated) -> None:
    federated.look("cart")
    federated.runs()
    federated.look(away=True)
    assert federated.runs() == []
    assert "hosted_mesh_unread_offers 1.0" in federated.service.call(None, "GET", "/metrics").text
    federated.look()  # it answers: there is none
    assert federated.runs() == ["east", "west"]
    assert "hosted_mesh_unread_offers 0.0" in federated.service.call(None, "GET", "/metrics").text


def test_an_order_has_the_found_offers_and_shows_its_own_documents(federated: Federated) -> None:
    federated.look("cart")
    federated.runs()
    path = "/v1/tenants/acme/federations/shops-east"
    shown = federated.service.call("acme", "GET", path)
    assert "offers" not in shown.json()["documents"]
    assert shown.json()["outputs"] == {"hosts": ["cart"]}
    body = federated.documents("east")
    body["federation"]["peers"][0]["locality"] = "eu-south"
    answer = federated.service.call("provider", "PUT", path, body, If_Match=shown.headers["ETag"])
    assert federated.offered(answer.json()["id"]) == ["cart"]


def test_an_offer_in_the_order_comes_first(tmp_path: Path) -> None:
    made = Federated(Service.make(tmp_path, operations=8, upkeep={"everySeconds": None}), tmp_path)
    own = [{"federation": "shops", "mesh": "west", "services": [service("till")]}]
    for mesh in ("west", "east"):
        made.service.end(made.order(mesh, offers=own)["id"])
    made.look("cart")
    assert made.runs() == []


def test_another_tenants_federation_of_the_same_name_has_offers_of_its_own(federated: Federated) -> None:
    federated.look("cart")
    federated.runs()
    other = documents("federations", "other")
    other["federation"]["peers"][1]["exports"] = [
        {"namespace": "shop", "to": [{"mesh": "east", "identities": ["a/b"]}]}
    ]
    identifier = ordered(federated.service, "other", other)["id"]
    with federated.service.database.reading() as connection:
        text = connection.exec_driver_sql(f"SELECT documents FROM operations WHERE id = '{identifier}'").scalar_one()
    assert "cart" not in text


def test_a_failed_run_is_repeated_later_or_with_other_offers(
    federated: Federated, monkeypatch: pytest.MonkeyPatch
) -> None:
    federated.look("cart")
    (first,) = federated.schedule.look()
    federated.service.end(first, State.FAILED)
    assert federated.schedule.look() == []
    shown = federated.service.call("acme", "GET", "/v1/tenants/acme/federations/shops-west").json()
    assert shown["state"] == "ready"
    federated.look("till")
    (second,) = federated.schedule.look()
    federated.service.end(second, State.FAILED)
    monkeypatch.setattr(offers, "PAUSE", 0.0)
    assert federated.runs() == ["west till", "east till"]


def test_an_exporter_waits_for_a_failing_importer_and_not_for_ever(
    federated: Federated, monkeypatch: pytest.MonkeyPatch
) -> None:
    federated.look("cart")
    federated.runs()
    federated.look()
    (importer,) = federated.schedule.look()
    federated.service.end(importer, State.FAILED)
    assert federated.schedule.look() == []
    monkeypatch.setattr(offers, "WAIT", 0.0)
    (exporter,) = federated.schedule.look()
    assert federated.operation(exporter)["name"] == "shops-west"
    assert federated.offered(exporter) == []


def test_runs_that_follow_put_no_check_off_and_leave_one_success(federated: Federated) -> None:
    def checked() -> list[float | None]:
        with federated.service.database.reading() as connection:
            return [one.checked for one in upkeep.facts(connection)]

    before = checked()
    for name in ("cart", "till", "books"):
        federated.look(name)
        federated.runs()
    assert checked() == before
    listed = federated.service.call("acme", "GET", "/v1/tenants/acme/operations").json()["items"]
    assert sorted((one["name"], one["action"]) for one in listed) == [
        ("shops-east", "follow"),
        ("shops-east", "up"),
        ("shops-west", "follow"),
        ("shops-west", "up"),
    ]


def test_a_mesh_that_left_is_forgotten(federated: Federated) -> None:
    federated.look("cart")
    federated.runs()
    path = "/v1/tenants/acme/federations/shops-west"
    etag = federated.service.call("acme", "GET", path).headers["ETag"]
    gone = federated.service.call("acme", "DELETE", path, If_Match=etag).json()
    federated.service.end(gone["id"])
    with federated.service.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM offers").scalar_one() == 0


def test_services_of_a_removed_exporter_are_imported_after_its_new_run_alone(federated: Federated) -> None:
    federated.look("cart")
    federated.runs()
    west, east = (f"/v1/tenants/acme/federations/shops-{mesh}" for mesh in ("west", "east"))
    etag = federated.service.call("acme", "GET", west).headers["ETag"]
    federated.service.end(federated.service.call("acme", "DELETE", west, If_Match=etag).json()["id"])
    made = federated.order("west")
    federated.look("cart")
    body, etag = federated.documents("east"), federated.service.call("acme", "GET", east).headers["ETag"]
    body["federation"]["peers"][0]["locality"] = "eu-south"
    early = federated.service.call("provider", "PUT", east, body, If_Match=etag).json()
    assert federated.offered(early["id"]) == []
    federated.service.end(made["id"])
    federated.service.end(early["id"])
    assert federated.runs() == ["west cart", "east cart"]


@pytest.mark.parametrize("printed", ["", "services", "other: 1", "- 1", subprocess.TimeoutExpired("hosted-mesh", 60.0)])
def test_a_mesh_without_an_answer_is_unread(printed: str | Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(*_arguments: str, given: str = "") -> str:
        assert json.loads(given) == {"name": "shops"}
        if isinstance(printed, Exception):
            raise printed
        return printed

    monkeypatch.setattr(job, "printed", answer)
    mesh = {"federation": {"name": "shops"}, "mesh": "west", "kubeconfig": "/mounted/west", "context": None}
    assert job.look(mesh) is None


def test_a_real_command_reads_a_document_without_labels() -> None:
    """`hosted-mesh` itself, which needs no cluster here."""
    document = documents("federations", "acme")["federation"]
    mesh = {"federation": document, "mesh": "west", "kubeconfig": "/nowhere", "context": "west"}
    assert job.look(mesh) is None  # no such file
    document["peers"][1]["exports"].append({"namespace": "shop", "to": [{"mesh": "east", "identities": ["a/b"]}]})
    started = time.monotonic()
    assert job.look(mesh) is None
    assert time.monotonic() - started < 60
