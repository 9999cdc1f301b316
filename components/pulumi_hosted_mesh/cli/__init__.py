"""The console command `hosted-mesh`; `command` has its verbs."""

import os

# gRPC would log on standard error that a peer has ended, as programs that `prove` runs do. It reads this once, when it
# is imported, and the verbs import Pulumi, which imports it.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
