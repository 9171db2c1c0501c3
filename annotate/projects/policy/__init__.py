"""Which questions a project asks: balanced, or those that matter most for what it is for."""
