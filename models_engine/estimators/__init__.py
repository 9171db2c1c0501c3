"""The estimators, one per file; `table.ESTIMATORS` names them all."""
