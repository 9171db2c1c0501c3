"""Where the repository lies, and the data sets that tests use where they are present."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("CROWDRANK_DATA") or ROOT.parent / "shared" / "data")
