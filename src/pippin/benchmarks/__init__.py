"""The benchmark: data sets × folds × rankers × training conventions × seeds, computed once and kept."""
