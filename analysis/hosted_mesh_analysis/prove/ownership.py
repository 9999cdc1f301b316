"""The owner of a secret, and so its forbidden places: by its source, else by the places that receive it."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field

from hosted_mesh_plan import vocabulary
from hosted_mesh_plan.annotations import is_annotated
from hosted_mesh_plan.model import IN_SECRET
from hosted_mesh_plan.owners import can_keep_logins

from ..runner.capture import PropertyRef
from ..runner.places import Side
from ..runner.secrets.generator import Owner, Source
from .experiment import Experiment


@dataclass
class Owners:
    """The owners in one experiment. sides, tenants: the owner of each place, by its name."""

    experiment: Experiment
    sides: Mapping[str, Side]
    tenants: Mapping[str, str] = field(default_factory=dict)
    _control_plane: dict[str, bool] = field(default_factory=dict)

    def why_not(self, source: Source, spot: PropertyRef) -> str:
        """The reason against a secret in a property; empty if it is allowed."""
        said_theirs = any(fnmatch.fnmatchcase(source.name, pattern) for pattern in self.experiment.users)
        if said_theirs or source.owner is Owner.DATA_PLANES:
            return ""
        if source.owner is Owner.PLACE:
            return self._of_place(source, spot)
        if self.is_control_planes(source.id):
            return "" if self._is_login_of_both(source, spot) else "the control plane's"
        places = {
            self._owner(self.experiment.place_name(one))
            for one in self.experiment.alone(source.id)
            if self.experiment.is_on_data_plane(one)
        }
        return "given to more than one place, with no declared owner" if len(places) > 1 else ""

    def _owner(self, place: str) -> str:
        return self.tenants.get(place, place)

    def _of_place(self, source: Source, spot: PropertyRef) -> str:
        if self._owner(source.place) == self._owner(self.experiment.place_name(spot)):
            return ""
        side = self.sides.get(source.place, Side.UNKNOWN)
        return "another data plane's" if side is Side.DATA_PLANE else "the control plane's"

    def is_control_planes(self, source_id: str) -> bool:
        """True for a secret made or kept there, and for a key that signs a certificate of such a key."""
        if source_id not in self._control_plane:
            self._control_plane[source_id] = False  # ends a circle of keys that sign each other
            self._control_plane[source_id] = self._is_control_planes(self.experiment.generator.sources[source_id])
        return self._control_plane[source_id]

    def _is_control_planes(self, source: Source) -> bool:
        if source.owner in {Owner.DATA_PLANES, Owner.CONTROL_PLANE}:
            return source.owner is Owner.CONTROL_PLANE
        if source.owner is Owner.PLACE:
            return self.sides.get(source.place, Side.UNKNOWN) is not Side.DATA_PLANE
        if any(not source.weak or _is_secret_data(spot) for spot in self._kept(source)):
            return True
        generator = self.experiment.generator
        signed = {subject for signer, subject in generator.signers if signer == source.id and subject != source.id}
        return any(subject in generator.sources and self.is_control_planes(subject) for subject in signed)

    def _kept(self, source: Source) -> list[PropertyRef]:
        """The control plane's properties with it."""
        return [spot for spot in self.experiment.alone(source.id) if self.experiment.side(spot) is Side.CONTROL_PLANE]

    def _is_login_of_both(self, source: Source, spot: PropertyRef) -> bool:
        """As in the policies: a password, in a data plane's place of logins, that only Secrets of the control plane
        annotated as keepers of such logins have."""
        in_values = ":helm.sh/" in spot.urn and spot.path[:1] == ("values",)
        if self.experiment.side(spot) is not Side.DATA_PLANE or not (_is_secret_data(spot) or in_values):
            return False
        signs = any(signer == source.id for signer, _ in self.experiment.generator.signers)
        texts = [text for one, found in self.experiment.generator.by_source() if one == source.id for text in found]
        is_key = signs or any("PRIVATE KEY" in text for text in texts)
        kept = self._kept(source)
        return source.owner is Owner.FREE and not is_key and bool(kept) and all(map(self._keeps_logins, kept))

    def _keeps_logins(self, spot: PropertyRef) -> bool:
        keeper = self.experiment.asked(spot)
        said = keeper and can_keep_logins(keeper) and is_annotated(keeper, vocabulary.DATA_PLANE_OWNED_ANNOTATION)
        return bool(said) and _is_secret_data(spot)


def _is_secret_data(spot: PropertyRef) -> bool:
    return ":Secret::" in spot.urn and spot.path[:1] in IN_SECRET
