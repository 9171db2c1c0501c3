#!/usr/bin/env python3
"""Django's command line for Crowdrank."""

import os
import sys

from django.core.management import execute_from_command_line

from annotate.demo.environment import set_environment

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")
    if sys.argv[1:2] == ["demo"]:
        set_environment()
    execute_from_command_line(sys.argv)
