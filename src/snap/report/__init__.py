"""From the tidy tables of a run to its figures, the paper's tables, verdicts and the report."""
