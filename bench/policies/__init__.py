"""What the policies catch and cost, beside other scanners and as stacks grow. Entry function: `run.run`."""
