"""The console command `hosted-mesh`. Module `command` has its subcommands."""

import os

# Prevents gRPC's log lines about peers that end, such as programs run by `prove`. gRPC reads this once, on import, and
# the subcommands import Pulumi, which imports gRPC.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
