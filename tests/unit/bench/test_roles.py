"""The bench measures the stacks that there are, each with the references that its own stack file gives it."""

from __future__ import annotations

import yaml
from pulumi_hosted_mesh.spec.stack import StackKind

from bench import roles
from bench.samples import Samples
from sandbox.bootstrap import CHECKOUT


def test_every_role_is_measured_with_the_references_of_its_stack_file():
    # One mesh's, CRDs apart: a federation is of several; names, intents and operators are of clusters.
    apart = {StackKind.ALL_IN_ONE, StackKind.CLUSTER, StackKind.FEDERATION, StackKind.DNS, StackKind.DNS_EDGE}
    apart |= {StackKind.INTENTS, StackKind.OBSERVABILITY, StackKind.GATEWAY, StackKind.OPERATORS}
    assert set(roles._READS) == set(StackKind) - apart
    for role, others in roles._READS.items():
        config = yaml.safe_load((CHECKOUT / "stacks" / f"Pulumi.{role}.yaml").read_text())["config"]
        references = config.get("hosted-mesh:references", ())
        referenced = ["control-plane" if one == "controlPlane" else one for one in references]
        referenced += ["trust" for _ in config.get("hosted-mesh:root", {}).get("stacks", ())]
        assert tuple(referenced) == others, role


def test_a_stack_meets_the_goal_by_its_median_and_is_compared_to_the_floor_of_the_same_round():
    found = [
        roles.Preview(roles.FLOOR, 1, Samples([1.0, 1.0, 4.5])),
        roles.Preview("trust", 7, Samples([1.5, 2.0, 9.0])),
        roles.Preview("access", 9, Samples([1.0, 2.3, 18.0])),
    ]
    rows = roles.grid(found).rows
    assert rows == [
        [roles.FLOOR, "1", "1.00 s", "1.00 s", "4.50 s", "1.00", "-"],
        ["trust", "7", "2.00 s", "1.50 s", "9.00 s", "2.00", "met"],
        ["access", "9", "2.30 s", "1.00 s", "18.00 s", "2.30", "not met"],
    ]
