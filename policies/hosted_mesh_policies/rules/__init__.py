"""The rules, by topic; `catalogue.RULES` lists them all. `evaluation` has their base."""
