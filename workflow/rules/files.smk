# Look at what surrounds the workflow, and at the files that people write, before Snakemake does.

import codecs
import locale
import sys
from pathlib import Path

from snap.errors import SnapError
from snap.pipeline.config import read

# Snakemake's report would be in the encoding of the locale. make chooses UTF-8.
ENCODING = locale.getpreferredencoding(False)
if codecs.lookup(ENCODING).name != "utf-8":
    sys.exit(
        f"snap: error: the locale's encoding is {ENCODING}: set PYTHONUTF8=1, and run again"
    )

# Snakemake would take a brace for the beginning of a wildcard.
for place in (workflow.basedir, Path.cwd(), sys.executable):
    if set("{}") & set(str(place)):
        sys.exit(f"snap: error: a path with a brace cannot be used: rename {place}")

# Snakemake would keep the last of two equal keys, and show a traceback for a file that is no text.
# make reads the files even earlier.
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
