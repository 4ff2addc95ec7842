"""Ranking data as frozen columns, and every format it is read from and written to."""
