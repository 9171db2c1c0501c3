"""Accounts: sign-in, sign-up, access tokens, mails."""
