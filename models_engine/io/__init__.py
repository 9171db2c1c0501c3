"""Files in and out: label tables, reports, run records and their reproduction."""
