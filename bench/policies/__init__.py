"""Detection and cost of the policies, beside other scanners and as stacks grow. Entry function: `run.run`."""
