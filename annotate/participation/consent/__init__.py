"""Consent and refusal."""
