"""Measures Treadle beside the least bot on the same libraries: `python -m tests.bench`."""
