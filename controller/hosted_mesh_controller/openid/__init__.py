"""Bearer tokens of OpenID Connect issuers: their form, the issuers' keys, and the rights that the settings grant."""
