"""Questions that the owner gives, imported: sets of item keys, or wide files of prompts and answers."""
