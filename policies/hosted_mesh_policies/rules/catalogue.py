"""All rules, in the order in which reports list them."""

from __future__ import annotations

from typing import Final

from ..evaluation.rule import Rule
from .advice import CERTIFICATES, CHART_VERSIONS, DISRUPTION, QUOTAS
from .credentials import FLOW, SHAPE, VALUE
from .exposure import EXPOSURE
from .operators import OPERATORS
from .outputs import OUTPUTS
from .providers import CLASSIFIED, PROVIDERS
from .rights import RIGHTS
from .tenants import TENANTS
from .trust import TRUST
from .unproven import UNPROVEN
from .webhooks import WEBHOOKS

RULES: Final[tuple[Rule, ...]] = (
    FLOW, VALUE, SHAPE, UNPROVEN, PROVIDERS, TRUST, WEBHOOKS, RIGHTS, EXPOSURE, TENANTS, OUTPUTS, OPERATORS,
    CLASSIFIED, CERTIFICATES, QUOTAS, DISRUPTION, CHART_VERSIONS,
)  # fmt: skip
