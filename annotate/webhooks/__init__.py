"""Registers webhooks, signs and delivers their messages."""
