"""Title extraction by layout: single criteria, rejected candidates and fallbacks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pippin.collections.text.title_extraction import ExtractedTitle, extract_title, is_bogus

BODY = "<p>Plant them in autumn, deep and with much patience.<p>Water them in the first summer every second day." * 6


@pytest.mark.parametrize("styled", [
    "<h1>Growing Fine Pippins</h1>", "<h2>Growing Fine Pippins</h2>",
    "<center><h1>Growing<br>Fine Pippins</h1></center>",
    "<p align=center><font size=+3><b>Growing Fine Pippins</b></font>", "<p><font size=6>Growing Fine Pippins</font>",
    "<div style='font-size: 28px'>Growing Fine Pippins</div>",
    "<div style='font-size:x-large'>Growing Fine Pippins</div>",
    "<p style='font-size:2em;font-weight:700'>Growing <i>Fine</i> Pippins",
])  # fmt: skip
@pytest.mark.parametrize("before", [
    "", "<img src=logo.gif>", "<p>Department of Fruit", "<ul><li><b>News of today</b></ul>",
    "<h1><a href=/>Home</a></h1>",
    "<p><font size=1>Last updated: May 3</font>", "<nav><h1>All our pages</h1></nav>",
    "<form><h1>Search this site</h1></form>", "<h1>Welcome to our home page</h1>", "<script>var h1 = 'x y z'</script>",
])  # fmt: skip
def test_the_striking_line_near_the_top_is_the_title(before: str, styled: str) -> None:
    assert extract_title(f"<title>Untitled</title>{before}{styled}{BODY}") == ExtractedTitle(
        "Growing Fine Pippins", "format"
    )


def test_late_heading_is_not_a_title() -> None:
    page = "<title>Fruit</title>" + "<p>A line of plain text stands here." * 60 + "<h1>Growing Fine Pippins</h1>" + BODY
    assert extract_title(page) == ExtractedTitle("Growing Fine Pippins", "heading")


def test_main_element_comes_first() -> None:
    page = f"<h1>The Fruit Agency</h1><main><h2>Growing Fine Pippins</h2>{BODY}</main>"
    assert extract_title(page).text == "Growing Fine Pippins"


def test_two_titles_of_nearly_the_same_looks_count_both() -> None:
    page = f"<h2>Growing Fine Pippins</h2><p>by the agency</p><h2>A Guide for Orchards</h2>{BODY}"
    assert extract_title(page).text == "Growing Fine Pippins A Guide for Orchards"


def test_fallbacks() -> None:
    assert extract_title("<title>Pippins</title><p>one") == ExtractedTitle("Pippins", "title")
    assert extract_title("<title>Untitled 7</title><p>one") == ExtractedTitle("", "none")
    assert extract_title("<title>a.gov</title><p>one", host="a.gov") == ExtractedTitle("", "none")
    assert extract_title(f"<h4><a href=x>Growing Pippins</a></h4>{BODY}") == ExtractedTitle(
        "Growing Pippins", "heading"
    )


@pytest.mark.parametrize("page", ["", "plain text", b"", b"\xff\xfe<h1>", "<" * 5000, "<div>" * 5_000 + "deep"])
def test_whatever_the_page_a_title_comes_out(page: str | bytes) -> None:
    assert extract_title(page).source in ("format", "heading", "title", "none")


@given(st.text(alphabet="<>/hp1 ab='\n&;", max_size=120))
def test_any_mark_up_is_read_and_twice_the_same(page: str) -> None:
    assert extract_title(page) == extract_title(page)


def test_bogus_titles() -> None:
    assert is_bogus("  ")
    assert is_bogus("www.a.gov", host="a.gov")
    assert not is_bogus("Fruit", host="a.gov")


def test_a_processing_instruction_is_passed_over() -> None:
    page = "<h1>Growing Fine Pippins</h1><?php echo 1 ?>odd<?a>" + BODY
    assert extract_title(page) == extract_title(page.replace("<?php echo 1 ?>odd<?a>", "odd"))
