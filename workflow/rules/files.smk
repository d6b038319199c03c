# Read the configuration files before Snakemake does: it would keep the last of two equal keys, and
# show a traceback for a file that is no text. make reads them even earlier.

import sys
from pathlib import Path

from snap.errors import SnapError
from snap.pipeline.config import read

try:
    read(
        [
            Path(file)
            for file in ("config.yaml", *workflow.overwrite_configfiles)
            if Path(file).exists()
        ]
    )
except SnapError as error:
    sys.exit(f"snap: error: {error}")
