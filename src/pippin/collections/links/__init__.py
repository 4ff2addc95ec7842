"""URLs, link graphs, link analysis and relations between documents."""
