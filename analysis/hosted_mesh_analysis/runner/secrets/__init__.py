"""Every secret of a run is made up: fresh values of the same form, and what providers would answer."""
