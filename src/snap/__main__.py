import sys

from snap.cli import main

sys.exit(main())
