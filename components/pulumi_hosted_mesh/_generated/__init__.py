"""Files that `hosted-mesh schema --write` generates. Do not edit."""
