"""Text features of LETOR and MSLR against published rows and worked examples."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.collections.features.strategies import draw_candidates

from pippin.collections.collection import Query
from pippin.collections.features import extract
from pippin.collections.index.statistics import Candidates, FieldStatistics
from pippin.data.normalisation import round_as_printed

OHSUMED = {"title": (2_770_138, 7.94724), "abstract": (23_680_877, 67.938)}
# Words, df, cf, tf, length, distinct words; then the fifteen numbers as LETOR prints them.
ROWS = [
    ("title", "a b c d e f g", (481, 22179, 1187, 452, 765, 1225, 7146), (484, 22330, 1212, 466, 792, 1235, 7225),
     (0, 1, 0, 1, 1, 1, 1), 10, 10,
     "5.000000 3.465736 0.500000 0.476551 37.330565 11.431241 37.307017 2.006924 25.062451 14.212437 22.580680 "
     "3.117095 -36.717226 -32.639402 -32.639402"),
    ("title", "outpati manag manag manag diabet diabet standard techniqu",
     (592, 6168, 6168, 6168, 3888, 3888, 878, 2700), (595, 6199, 6199, 6199, 4076, 4076, 892, 2708),
     (0, 1, 1, 1, 1, 1, 0, 0), 3, 3,
     "5.000000 3.465736 1.666667 1.438410 38.317813 12.414060 38.272633 4.388119 21.095224 15.717574 23.629925 "
     "3.162514 -42.983333 -34.426587 -34.426587"),
    ("title", "catamenorrh anaphylaxi", (0, 170), (0, 170), (0, 1), 2, 2,
     "1.000000 0.693147 0.500000 0.405465 7.625784 2.031535 7.626272 1.571298 7.625784 6.933612 10.985433 2.396570 "
     "-3.948180 -1.386172 -1.386172"),
    ("abstract", "a b c d e", (14279, 4328, 7582, 8, 92274), (20984, 7868, 17918, 13, 135676), (0, 0, 0, 0, 1), 116, 64,
     "1.000000 0.693147 0.008621 0.008584 23.423017 6.636042 21.169006 0.011392 1.329065 0.021906 0.792265 -0.232860 "
     "-46.300075 -44.349867 -46.925900"),
]  # fmt: skip


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


@pytest.mark.parametrize(("field", "words", "df", "cf", "tf", "length", "unique", "printed"), ROWS)
def test_the_published_values_of_ohsumed(
    field: str, words: str, df: tuple[int, ...], cf: tuple[int, ...], tf: tuple[int, ...], length: int, unique: int,
    printed: str,
) -> None:  # fmt: skip
    total, average = OHSUMED[field]
    counts = FieldStatistics(
        348_566, total, average, floats(*df), floats(*cf), floats(*tf)[:, None], floats(length), floats(unique)
    )
    query_tf = tuple(words.split())
    fields = dict.fromkeys(("title", "abstract", "whole"), counts)
    candidates = Candidates(Query("q", words), query_tf, ("d",), np.zeros(1, np.int32), fields)
    result = round_as_printed(extract(candidates, "ohsumed"))[0]
    assert [f"{value:.6f}" for value in result[:15]] == printed.split()
    assert (result[:15] == result[15:30]).all()


# The golden micro-collection: title, body, url and the texts of the links that point here.
PAGES = [
    ("http://a.gov/", "space agency", "space agency home space", "home space agency"),
    ("http://a.gov/mars/", "mars missions", "mars rover space mission mars", "mars mars missions"),
    ("http://a.gov/mars/rover.html", "rover", "mars rover", "rover rover page"),
    ("http://b.gov/index.html", "health agency", "health agency", "health"),
    ("http://b.gov/space/law.html", "space law", "space law agency", "law"),
    ("http://c.gov/x.html", "", "unrelated", ""),
]
WORDS = ("mars", "space")


def field_statistics(texts: list[list[str]]) -> FieldStatistics:
    """Counts of tokenised texts, one per document, for the words of the query."""
    bags = [Counter(text) for text in texts]
    tf = np.array([[bag[word] for bag in bags] for word in WORDS], np.float64)
    length = floats(*map(len, texts))
    total = int(length.sum())
    return FieldStatistics(
        len(texts), total, total / len(texts), (tf > 0).sum(axis=1).astype(float), tf.sum(axis=1), tf, length,
        floats(*map(len, bags)),
    )  # fmt: skip


@pytest.fixture(scope="module")
def pages() -> Candidates:
    titles, bodies, anchors = ([page[i].split() for page in PAGES] for i in (1, 2, 3))
    urls = [re.findall(r"[a-z0-9]+", page[0].removeprefix("http://")) for page in PAGES]
    wholes = [b + a + t + u for b, a, t, u in zip(bodies, anchors, titles, urls, strict=True)]
    texts = {"title": titles, "body": bodies, "anchor": anchors, "url": urls, "whole": wholes}
    fields = {name: field_statistics(text) for name, text in texts.items()}
    ids = tuple(f"d{i + 1}" for i in range(len(PAGES)))
    return Candidates(Query("q", "mars space"), WORDS, ids, np.zeros(len(PAGES), np.int32), fields)


N = math.nan


@pytest.mark.parametrize(
    ("feature", "expected"),
    [
        ("length@whole", (11, 13, 11, 9, 11, 5)),
        ("tf@whole", (4, 7, 2, 0, 3, 0)),
        ("idf@whole", (0.587787,) * 6),
        ("tf_idf@whole", (0, 6 * 0.5877867, 2 * 0.5877867, 0, 0, 0)),
        ("bm25@whole", (0, 1.356431, 0.875427, N, 0, N)),
        ("bm25@title", (0.493741, 1.091398, N, N, 0.493741, N)),
        ("lmir_abs@whole", (-4.231740, -3.393738, -4.755033, N, -4.324787, N)),
        ("lmir_dir@whole", (-4.025887, -4.016770, -4.033304, N, -4.029589, N)),
        ("lmir_jm@whole", (-5.394517, -3.341136, -6.049265, N, -5.669235, N)),
        ("lmir_jm@title", (-5.250115, -4.580779, N, N, -5.250115, N)),
        ("log_bm25@whole", (N, math.log(1.356431), math.log(0.875427), N, N, N)),
        ("bm25(unmatched=value)@title", (0.493741, 1.091398, 0, 0, 0.493741, 0)),
        ("lmir_jm(unmatched=value)@title", (-5.250115, -4.580779) + (math.log(0.1 / 9) + math.log(0.2 / 9),) * 2
         + (-5.250115,) + (math.log(0.1 / 9) + math.log(0.2 / 9),)),
        ("covered@whole", (1, 2, 1, 0, 1, 0)),
        ("covered_ratio@whole", (0.5, 1, 0.5, 0, 0.5, 0)),
        ("tf_min@whole", (0, 1, 0, 0, 0, 0)),
        ("tf_max@whole", (4, 6, 2, 0, 3, 0)),
        ("tf_mean@whole", (2, 3.5, 1, 0, 1.5, 0)),
        ("tf_variance@whole", (4, 2.5**2, 1, 0, 1.5**2, 0)),
        ("tf_share_max@whole", (4 / 11, 6 / 13, 2 / 11, 0, 3 / 11, 0)),
        ("tf_share_variance@body", ((1 / 4) ** 2, (1 / 10) ** 2, (1 / 4) ** 2, 0, (1 / 6) ** 2, 0)),
        ("tf_idf_mean@whole", (0, 3 * 0.5877867, 0.5877867, 0, 0, 0)),
        ("boolean@whole", (0, 1, 0, 0, 0, 0)),
        ("vector_space@title", (math.log(4.5 / 2.5) / math.hypot(math.log(4.5 / 2.5), math.log(5.5 / 1.5)),
                                math.log(5.5 / 1.5) / math.hypot(math.log(4.5 / 2.5), math.log(5.5 / 1.5)),
                                0, 0, math.log(4.5 / 2.5) / math.hypot(math.log(4.5 / 2.5), math.log(5.5 / 1.5)), 0)),
    ],
)  # fmt: skip
def test_the_worked_example(pages: Candidates, feature: str, expected: tuple[float, ...]) -> None:
    assert extract(pages, feature)[:, 0] == pytest.approx(floats(*expected), abs=1e-6, nan_ok=True)


def test_a_word_of_more_than_half_of_the_documents_keeps_its_sign(pages: Candidates) -> None:
    full = pages.fields["whole"]
    common = FieldStatistics(6, 60, 10.0, floats(5, 3), floats(8, 8), full.tf, full.length, full.unique)
    values = extract(Candidates(pages.query, WORDS, pages.document_ids, pages.labels, {"whole": common}), "bm25@whole")
    assert values[1, 0] < 0
    assert values[2, 0] < 0


def test_repeated_words_count_once_in_bm25_and_often_elsewhere(pages: Candidates) -> None:
    title = pages.fields["title"]
    twice = FieldStatistics(
        6, title.total, title.average, title.df[[0, 0]], title.cf[[0, 0]], title.tf[[0, 0]], title.length, title.unique
    )
    once = FieldStatistics(
        6, title.total, title.average, title.df[:1], title.cf[:1], title.tf[:1], title.length, title.unique
    )
    query_tf = [
        Candidates(pages.query, words, pages.document_ids, pages.labels, {"title": field})
        for words, field in ((("mars", "mars"), twice), (("mars",), once))
    ]
    features = "bm25@title, bm25(k3=7)@title, tf@title, lmir_jm@title"
    double, single = (extract(candidates, features)[1] for candidates in query_tf)
    assert double[0] == single[0]  # k3 = 0: however often it is said
    assert double[1] == pytest.approx(single[1] * 8 * 2 / (7 + 2))
    assert double[2:].tolist() == (2 * single[2:]).tolist()


def test_features_of_the_query_alone_are_worked_by_hand() -> None:
    """N = 100, words with df 10, 50, 0, and cf 20, 50: ln 10, ln 2, and one that no document has."""
    drawn = draw_candidates(2, ("a", "b", "c"), ("whole",))
    df, cf = np.array([10.0, 50.0, 0.0]), np.array([20.0, 50.0, 0.0])
    candidates = replace(drawn, fields={"whole": replace(drawn.fields["whole"], documents=100, df=df, cf=cf)})
    rare = [math.log(10), math.log(2), 0.0]
    mean = sum(rare) / 3
    expected = [3, math.log(10), mean, math.sqrt(sum((item - mean) ** 2 for item in rare) / 3),
                max((1 + math.log(20)) * math.log(11), (1 + math.log(50)) * math.log(3))]  # fmt: skip
    np.testing.assert_allclose(extract(candidates, "query"), [expected, expected])
