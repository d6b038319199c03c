"""Make figures, the paper's tables, verdicts and the report from the tidy tables of a run."""
