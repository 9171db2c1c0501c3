"""Counts of annotators and items made elsewhere, such as plays or clicks."""
