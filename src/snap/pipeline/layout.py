"""Names of files and folders in results/<run>/ that several modules share."""

READINGS = "readings"  # the other readings of the run, one folder for each
PLAN = "plan.json"  # what the run consists of
PROVENANCE = "provenance.json"  # where its results come from
