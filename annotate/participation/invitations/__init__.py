"""Join link, QR code, invitations."""
