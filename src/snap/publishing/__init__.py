"""A finished run, kept with the code, and the passages of documents that quote it."""
