"""Whose a secret is, and so where it may not go. Told by where it was made, else by where the program sends it."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import vocabulary
from ..plan.annotations import is_annotated
from ..plan.model import IN_SECRET
from ..plan.owners import can_keep_logins
from .capture import Spot
from .experiment import Experiment
from .places import Side
from .secrets.vault import Owner, Source


@dataclass
class Owners:
    """Answers for one experiment. sides, tenants: whose each place is, by its name."""

    experiment: Experiment
    sides: Mapping[str, Side]
    tenants: Mapping[str, str] = field(default_factory=dict)
    _control_plane: dict[str, bool] = field(default_factory=dict)

    def why_not(self, source: Source, spot: Spot) -> str:
        """Why a secret must not be in a spot; empty if it may."""
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
        return "given to more than one place, and nobody says whose it is" if len(places) > 1 else ""

    def _owner(self, place: str) -> str:
        return self.tenants.get(place, place)

    def _of_place(self, source: Source, spot: Spot) -> str:
        if self._owner(source.place) == self._owner(self.experiment.place_name(spot)):
            return ""
        side = self.sides.get(source.place, Side.UNKNOWN)
        return "another data plane's" if side is Side.DATA_PLANE else "the control plane's"

    def is_control_planes(self, source_id: str) -> bool:
        """True for what was made there, what the program keeps there, and what signs a certificate of such a key."""
        if source_id not in self._control_plane:
            self._control_plane[source_id] = False  # ends a circle of keys that sign each other
            self._control_plane[source_id] = self._is_control_planes(self.experiment.vault.sources[source_id])
        return self._control_plane[source_id]

    def _is_control_planes(self, source: Source) -> bool:
        if source.owner in {Owner.DATA_PLANES, Owner.CONTROL_PLANE}:
            return source.owner is Owner.CONTROL_PLANE
        if source.owner is Owner.PLACE:
            return self.sides.get(source.place, Side.UNKNOWN) is not Side.DATA_PLANE
        if any(not source.weak or _is_secret_data(spot) for spot in self._kept(source)):
            return True
        vault = self.experiment.vault
        signed = {subject for signer, subject in vault.signers if signer == source.id and subject != source.id}
        return any(subject in vault.sources and self.is_control_planes(subject) for subject in signed)

    def _kept(self, source: Source) -> list[Spot]:
        """Where the control plane has it."""
        return [spot for spot in self.experiment.alone(source.id) if self.experiment.side(spot) is Side.CONTROL_PLANE]

    def _is_login_of_both(self, source: Source, spot: Spot) -> bool:
        """As the policies have it: a password, where a data plane keeps logins, that in the control plane nothing has
        but Secrets that say, with a reason, that they keep such a login."""
        if self.experiment.side(spot) is not Side.DATA_PLANE or not (_is_secret_data(spot) or _is_in_values(spot)):
            return False
        signs = any(signer == source.id for signer, _ in self.experiment.vault.signers)
        texts = [text for one, found in self.experiment.vault.by_source() if one == source.id for text in found]
        is_key = signs or any("PRIVATE KEY" in text for text in texts)
        kept = self._kept(source)
        return source.owner is Owner.FREE and not is_key and bool(kept) and all(map(self._keeps_logins, kept))

    def _keeps_logins(self, spot: Spot) -> bool:
        keeper = self.experiment.asked(spot)
        said = keeper and can_keep_logins(keeper) and is_annotated(keeper, vocabulary.DATA_PLANE_OWNED_ANNOTATION)
        return bool(said) and _is_secret_data(spot)


def _is_in_values(spot: Spot) -> bool:
    return ":helm.sh/" in spot.urn and spot.path[:1] == ("values",)


def _is_secret_data(spot: Spot) -> bool:
    return ":Secret::" in spot.urn and spot.path[:1] in IN_SECRET
