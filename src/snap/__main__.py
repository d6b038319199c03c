import sys

from snap.pipeline import keeper

keeper.end_with_parents()  # before the imports, which take longer

from snap.cli.main import main  # noqa: E402

sys.exit(main())
