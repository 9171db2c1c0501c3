#!/usr/bin/env python3
"""Django's command line for Crowdrank; in an installed wheel the same is called `crowdrank`."""

import sys

from annotate.command_line import main

if __name__ == "__main__":
    sys.exit(main())
