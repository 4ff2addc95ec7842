"""The checks of an audit, a shelf by what they look at: queries and labels, features, scores, folds."""
