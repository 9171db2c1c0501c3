"""The estimators, one per file; `table.ESTIMATORS` lists them all."""
