"""Scaled scores: values on a scale of the owner, or on that of a former round through anchors."""
