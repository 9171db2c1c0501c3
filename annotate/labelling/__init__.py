"""Tasks and answers: assignment, eligibility, labels."""
