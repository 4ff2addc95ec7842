"""Slow definitions of all measures in plain Python, one query at a time.

Every registered `Kind` has a twin here, under the same name; a law compares them on random lists under random
conventions (`tests/evaluation/test_measures.py`). They are written from the definitions and from what the original
tools were seen to do, not from the code under test.
"""

from tests.definitions import diversity, field, library, trec, trec8, users
from tests.definitions.query import TWINS, Query, Twin, value

__all__ = ["TWINS", "Query", "Twin", "diversity", "field", "library", "trec", "trec8", "users", "value"]
