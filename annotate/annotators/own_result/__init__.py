"""What annotators are shown of the result: their own ranking beside everybody's, their group."""
