"""The API of a served site, asked by schemathesis for everything that its own description allows and forbids."""
