"""The Pulumi CLI with the environment of it and its plug-ins, one command at a time."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from sandbox.bootstrap import CHECKOUT
from sandbox.errors import SandboxError
from sandbox.plugins import selection
from sandbox.program_environment import pulumi_home, with_tools
from sandbox.toolchain import Tools

# Settings of the caller that would select another stack, secret or service.
_FOREIGN = (
    "PULUMI_ACCESS_TOKEN",
    "PULUMI_CONFIG",
    "PULUMI_CONFIG_PASSPHRASE",
    "PULUMI_CONFIG_PASSPHRASE_FILE",
    "PULUMI_STACK",
)


@dataclass(frozen=True)
class PulumiCli:
    """environment: complete, with this process's own variables."""

    program: Path
    environment: Mapping[str, str]

    @classmethod
    def of(cls, tools: Tools, settings: Mapping[str, str]) -> PulumiCli:
        """With the tools and the selected plug-ins on PATH. settings: backend, passphrase and the like."""
        chosen = selection.select(tools, pulumi_home())
        own = {key: value for key, value in with_tools(tools.bin_dir, chosen.path).items() if key not in _FOREIGN}
        logged = {"PULUMI_DEBUG_COMMANDS": "true"}  # adds the option --event-log, which the Automation API uses too
        return cls(tools["pulumi"], own | logged | dict(settings) | dict(chosen.env))

    def command(self, *arguments: str | Path) -> list[str]:
        """The arguments of a command without prompts and colours."""
        return [str(self.program), "--non-interactive", "--color=never", *map(str, arguments)]

    def run(
        self,
        *arguments: str | Path,
        cwd: Path = CHECKOUT,
        limit: float = 120,
        more: Mapping[str, str] = MappingProxyType({}),
        text: str = "",
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end and captures its output. limit: in seconds. more: variables for the program.
        text: its standard input.

        Raises SandboxError beyond the limit. A failed command raises nothing: the caller reads the exit code.
        """
        try:
            return subprocess.run(
                self.command(*arguments),
                cwd=cwd,
                env={**self.environment, **more},
                input=text,
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SandboxError(f"`pulumi {arguments[0]}` did not end within {limit:g} seconds.") from None
