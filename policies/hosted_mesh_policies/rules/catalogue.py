"""All rules, in the order of reports."""

from __future__ import annotations

from typing import Final

from ..evaluation.rule import Rule
from .credentials import FLOW, SHAPE, VALUE
from .exposure import EXPOSURE
from .operators import OPERATORS, USER_IMAGES
from .outputs import OUTPUTS
from .providers import CLASSIFIED, PROVIDERS
from .rights import RIGHTS
from .tenants import TENANTS
from .trust import TRUST
from .unproven import UNPROVEN
from .webhooks import WEBHOOKS

RULES: Final[tuple[Rule, ...]] = (
    FLOW, VALUE, SHAPE, UNPROVEN, PROVIDERS, TRUST, WEBHOOKS, RIGHTS, EXPOSURE, TENANTS, OUTPUTS, OPERATORS,
    USER_IMAGES, CLASSIFIED,
)  # fmt: skip
