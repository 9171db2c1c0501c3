"""`python -m annotate.core.run_child PARENT COMMAND ...`: a manage.py command tied to the process PARENT.

Nothing imports this module: the fork server runs the main module again, and warns where it is imported already.
"""

import os
import sys

from annotate.core.child_processes import end_with_parent
from annotate.core.starting import run_command

if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))  # before the imports that take a second
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")
    run_command(["manage.py", *sys.argv[2:]])
