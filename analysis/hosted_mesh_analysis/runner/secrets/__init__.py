"""Makes up every secret of a run: fresh values of the same form, and answers in place of providers."""
