"""Features 41–60: the worked example to six digits, and each propagation on five pages by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.collection.micro import micro_candidates

from pippin.collection.candidates import Candidates
from pippin.collection.features import extract

WORKED = {
    "sitemap_term": (0.352347, 1.322520, 0.822901, 0, 0, 0),
    "sitemap_score": (0.129958, 1.299576, 0.787884, 0, 0, 0),
    "score_in": (0, 1.293691, 0.938167, 0, 0, 0),
    "score_out": (0.173136, 1.293691, 0.938167, 0, 0, 0),
    "score_uniform": (0.108094, 1.230727, 0.928722, 0.016214, 0.002432, 0),
    "feature_in": (0, 1.313806, 0.993511, 0, 0, 0),
    "feature_out": (0.398073, 1.313806, 0.993511, 0, 0, 0),
    "feature_uniform": (0.260321, 1.299531, 0.988550, 0.051174, 0.006684, 0),
    "authority": (0.335070, 0.542155, 0.655496, 0, 0.405119, 0),
    "hub": (0.805799, 0.498011, 0.272571, 0.168458, 0, 0),
    "pagerank": (24808.848648, 28794.240335, 22179.347285, 11363.147231, 9941.795143, 2912.621359),
    "hostrank": (465.116279, 465.116279, 465.116279, 465.116279, 465.116279, 69.767442),
    "topical_pagerank": (16652.945030, 22792.334850, 17490.245512, 3653.246992, 5572.771338, 1456.310680),
    "inlinks": (2, 2, 2, 1, 1, 0),
    "outlinks": (3, 2, 1, 1, 1, 0),
    "slashes": (1, 2, 2, 1, 2, 1),
    "url_length": (6, 11, 21, 16, 20, 12),
    "children": (1, 1, 0, 1, 0, 0),
}


@pytest.fixture(scope="module")
def candidates() -> Candidates:
    return micro_candidates()


def test_the_index_of_the_worked_example_counts_as_it_should(candidates: Candidates) -> None:
    counts = candidates.streams["whole"]
    assert counts.length.tolist() == [11, 13, 11, 9, 11, 5]
    assert counts.tf.tolist() == [[0, 6, 2, 0, 0, 0], [4, 1, 0, 0, 3, 0]]


@pytest.mark.parametrize("name", WORKED)
def test_the_worked_example_to_six_digits(candidates: Candidates, name: str) -> None:
    values = extract(candidates, name)[:, 0]
    assert np.abs(values - WORKED[name]).max() <= 5.1e-7
