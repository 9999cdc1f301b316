"""The rules, by topic; `catalogue.RULES` lists them all. What they are made with is in `evaluation`."""
