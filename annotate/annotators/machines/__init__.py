"""Machines that judge sets of items: adding them, what they are asked, what they answered, how they agree with
people."""
