"""What several rankers share: linear models, trees, stumps, networks, λ, line searches."""
