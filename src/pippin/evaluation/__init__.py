"""From a ranking to numbers: conventions, tools, measures, and what they say."""
