import sys

from snap.cli.main import main

sys.exit(main())
