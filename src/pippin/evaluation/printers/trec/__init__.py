"""The parts of the drop-in for trec_eval: what each version accepts, computes and prints."""
