"""Where a plan has secrets and credentials: three detectors, and what they share.

- `value` looks for what is known of the control plane's secrets.
- `flow` follows who depends on whom; `shape` knows credentials by their structure.
- `search` finds fingerprints in a resource's text, whatever they are wrapped in.
- `secrets` says which parts of a resource and of a text are secret, and makes their fingerprints.
- `leaf` says what one value is: public by its structure, secret by its name, random, an example.
- `keys` reads private keys, certificates and keystores; `decoders` read texts in other notations.

Each knows only those below it in this list, and those in one line do not know each other.
"""
