"""Text analysis: tokens, HTML, titles and snippets."""
