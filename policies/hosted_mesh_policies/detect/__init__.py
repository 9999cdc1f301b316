"""Finds secrets and credentials in a plan: three detectors and their shared parts.

- `value` searches for the control plane's secrets.
- `flow` follows dependencies; `shape` recognises credentials by their structure.
- `search` finds fingerprints in a resource's text, under any wrapping.
- `secrets` selects the secret parts of a resource and of a text, and makes their fingerprints.
- `leaf` classifies one value: public by its structure, secret by its name, random, an example.
- `keys` reads private keys, certificates and keystores; `decoders` read other notations.

Each imports only those below it in this list; those on one line do not import each other.
"""
