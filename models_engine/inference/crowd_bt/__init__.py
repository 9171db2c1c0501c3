"""CrowdBT: Bradley-Terry with a reliability for each annotator."""
