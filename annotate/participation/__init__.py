"""Taking part: joining, consent, questionnaire, completion, invitations."""
