"""Analysis of labels and posteriors: agreement, cycles, tiers, groups, stopping, evaluation, metrics."""
