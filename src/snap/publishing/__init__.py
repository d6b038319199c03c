"""Publish a finished run in the repository, and fill in the document passages that quote it."""
