"""Tables drawn in every format."""

from __future__ import annotations

from pippin.display.tables import KeyValues, Table

TABLE = Table(
    ["tool", "NDCG@10", "remark"],
    [["letor_4", "0.1", "a|b"], ["語", "0.25", ""]],
    trailing_text=1,
    notes=["a note"],
)


def test_terminal_aligns_by_columns_a_terminal_shows() -> None:
    lines = TABLE.render("table").split("\n")
    assert lines[2] == "letor_4     0.1   a|b"  # points stand below each other
    assert lines[3] == "語          0.25"
    assert lines[-1] == "a note"


def test_the_points_of_numbers_stand_below_each_other_whatever_marks_they_have() -> None:
    rows = [["a", "0.7330", "1"], ["b", "0.73298*", "–"], ["c", "−12.5†", "23"], ["d", "–", "4"]]
    lines = Table(["tool", "NDCG", "n"], rows).render("table").split("\n")
    assert lines[2:] == [
        "a       0.7330     1",
        "b       0.73298*   –",
        "c     −12.5†      23",
        "d              –   4",
    ]
    ranges = Table(["tool", "NDCG"], [["a", "0.1 (1)"], ["b", "0.25 (2)"]]).render("table").split("\n")
    assert ranges[2:] == ["a      0.1 (1)", "b     0.25 (2)"]


def test_markdown_escapes_bars_and_aligns_numbers() -> None:
    lines = TABLE.render("markdown").split("\n")
    assert lines[1] == "| --- | --: | --- |"
    assert lines[2] == r"| letor_4 | 0.1 | a\|b |"


def test_latex_is_booktabs_with_escapes() -> None:
    text = TABLE.render("latex")
    assert r"\begin{tabular}{lrl}" in text
    assert r"letor\_4 & 0.1 & a\textbar{}b \\" in text
    assert r"\bottomrule" in text


def test_facts_in_every_format() -> None:
    facts = KeyValues([("p", "0.05"), ("50% of", "a, b")])
    assert facts.render("csv") == 'fact,value\np,0.05\n50% of,"a, b"'
    assert facts.render("markdown") == "- **p** 0.05\n- **50% of** a, b"
    assert r"\item[{50\% of}] a, b" in facts.render("latex")


def test_csv_is_only_the_table() -> None:
    assert TABLE.render("csv") == "tool,NDCG@10,remark\nletor_4,0.1,a|b\n語,0.25,"
