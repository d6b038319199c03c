"""Names of folders below results/<run>/ that several modules share."""

READINGS = "readings"  # the other readings of the run, one folder for each
