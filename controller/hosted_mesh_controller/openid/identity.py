"""The identity of an issuer's user, as the audit log has it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Final

_ID: Final = 26  # hexadecimal digits: columns have 32 characters


@dataclass(frozen=True)
class Identity:
    """A user of an issuer, for ever: the claims `iss` and `sub`."""

    issuer: str
    subject: str

    @property
    def id(self) -> str:
        """A name in place of a token's id."""
        text = json.dumps([self.issuer, self.subject])
        return f"oidc_{hashlib.sha256(text.encode()).hexdigest()[:_ID]}"
