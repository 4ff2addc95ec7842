"""Tools by family: what libraries, evaluators of retrieval, recommenders and search engines compute."""
