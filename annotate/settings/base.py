"""What every part of the settings needs: the environment, and whether this is a machine to develop on."""

import sys

from annotate.core.environment import Environment

env = Environment()
env.prefix = ""

VERSION = "0.1.0"
DEBUG = env.switch("DEBUG", default=False)
TESTING = "pytest" in sys.modules
