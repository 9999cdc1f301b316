"""The policy pack for `pulumi preview --policy-pack "$(hosted-mesh-policies path)"`."""

import sys

try:
    from hosted_mesh_policies.pack.server import serve
except ImportError as missing:  # before the pack's own code, so that no trace hides the cause
    sys.exit(
        f"policy pack hosted-mesh: {sys.executable} cannot import {missing.name or missing}. Activate the environment "
        "that has hosted-mesh-policies, or install it there: pip install CHECKOUT/plan CHECKOUT/policies"
    )

serve()
