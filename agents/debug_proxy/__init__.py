"""Answers istioctl about one cluster's proxies, read only. istiod checks the user's token: no credential is here."""
