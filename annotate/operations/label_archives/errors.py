"""What a command about label archives refuses or finds wrong."""


class LabelArchiveError(Exception):
    """Its message is for the operator."""
