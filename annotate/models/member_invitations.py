"""Who is invited to be a member and has no account yet."""

from django.db import models

from annotate.models.projects import Membership, Project


class MemberInvitation(models.Model):
    """One address, in lower case, of one project; deleted when it is accepted or withdrawn."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="invitations")
    address = models.EmailField(max_length=254, db_index=True)
    role = models.CharField(max_length=10, choices=Membership.Role)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "address"], name="one_invitation_per_address_and_project")
        ]

    def __str__(self) -> str:
        return f"{self.address} ({self.role})"
