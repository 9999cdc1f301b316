"""``python -m sandbox.node CONFIG.json``: runs a node until SIGTERM."""

import asyncio
import logging
import sys
from pathlib import Path

from pydantic import ValidationError

from sandbox.node.config import NodeConfig
from sandbox.node.runtime.isolation import run_isolated


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python -m sandbox.node CONFIG.json", file=sys.stderr)
        return 2
    try:
        settings = NodeConfig.model_validate_json(Path(sys.argv[1]).read_text())
    except (OSError, ValidationError) as error:
        print(f"{sys.argv[1]}: {error}", file=sys.stderr)
        return 2
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    try:
        run_isolated()
        from sandbox.node import node  # noqa: PLC0415 (the waiting process needs none of it)

        asyncio.run(node.run(settings))
    except (OSError, RuntimeError) as error:
        print(f"node {settings.node_name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
