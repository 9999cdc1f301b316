"""Makes the random values. Each function takes planned inputs and returns (id, computed outputs)."""

from __future__ import annotations

import base64
import secrets
import string as characters
from typing import Any

import bcrypt

from sandbox.plugins.bridged.resources import Values
from sandbox.plugins.protocol.errors import ProviderError

_SPECIAL = "!@#$%&*()-_=+[]{}<>:?"
_BCRYPT_BYTES = 72  # bcrypt reads no more, and newer libraries refuse more

Made = tuple[str, dict[str, Any]]


def _text(inputs: Values) -> str:
    """The password's characters: the minimum of each class, the rest from all, in random order."""
    classes = {
        "Numeric": (inputs["numeric"], characters.digits),
        "Lower": (inputs["lower"], characters.ascii_lowercase),
        "Upper": (inputs["upper"], characters.ascii_uppercase),
        "Special": (inputs["special"], inputs.get("overrideSpecial") or _SPECIAL),
    }
    alphabet = "".join(letters for wanted, letters in classes.values() if wanted)
    if not alphabet:
        raise ProviderError("the character set specified is empty")
    chosen = [secrets.choice(letters) for name, (_, letters) in classes.items() for _ in range(inputs[f"min{name}"])]
    chosen += [secrets.choice(alphabet) for _ in range(inputs["length"] - len(chosen))]
    secrets.SystemRandom().shuffle(chosen)
    return "".join(chosen)


def password(inputs: Values) -> Made:
    text = _text(inputs)
    digest = bcrypt.hashpw(text.encode()[:_BCRYPT_BYTES], bcrypt.gensalt(10, prefix=b"2a")).decode()
    return "none", {"result": text, "bcryptHash": digest}


def identifier(inputs: Values) -> Made:
    data = secrets.token_bytes(inputs["byteLength"])
    prefix = inputs.get("prefix", "")
    url = base64.urlsafe_b64encode(data).decode().rstrip("=")
    return url, {
        "b64Url": prefix + url,
        "b64Std": prefix + base64.b64encode(data).decode(),
        "hex": prefix + data.hex(),
        "dec": prefix + str(int.from_bytes(data, "big")),
    }


def some_bytes(inputs: Values) -> Made:
    data = secrets.token_bytes(inputs["length"])
    encoded = base64.b64encode(data).decode()
    # The official plug-in takes the value itself as id, although ids are never encrypted; this one must agree.
    return encoded, {"base64": encoded, "hex": data.hex()}
