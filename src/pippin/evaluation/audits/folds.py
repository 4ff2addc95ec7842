"""Checks of folds: does a test query occur in training, and is the cross-validation LETOR's rotation?"""

from __future__ import annotations

from itertools import combinations

from pippin.data.audit_files import Layout
from pippin.evaluation.audits.finding import Finding, check, of, some, verb
from pippin.evaluation.audits.subject import Subject


def _has_folds(subject: Subject) -> bool:
    return subject.layout is not None


@check("leak", "queries that are in more than one part", _has_folds)
def leak(subject: Subject) -> Finding | None:
    """Queries shared between the training, validation and test part of one fold."""
    layout = subject.layout or {}
    shared: dict[str, None] = {}
    parts: list[tuple[str, float]] = []
    for fold, files in layout.items():
        for a, b in combinations(files, 2):
            both = sorted(set(files[a].query_ids) & set(files[b].query_ids))
            shared |= dict.fromkeys(both)
            parts += [(f"{fold} {a} and {b}".lstrip(), len(both))] if both else []
    if not shared:
        return None
    total = len({query for files in layout.values() for part in files.values() for query in part.query_ids})
    where = "; ".join(f"{place} share {int(count):,}" for place, count in parts[:5])
    return Finding(
        "leak", "error", len(shared), total,
        f"{of(len(shared), total, 'queries')} {verb(len(shared), 'are', 'is')} in more than one part: {where}",
        recommendation="take them out of all but one part: a model that has seen its test queries cannot be compared",
        examples=some(list(shared)), parts=tuple(parts),
    )  # fmt: skip


@check("rotation", "folds that are not a rotation", lambda s: len(s.layout or {}) > 1)
def rotation(subject: Subject) -> Finding | None:
    """Folds that are not LETOR's: fold i tests on one part, validates on fold i−1's, and trains on all the others.

    For five parts this is Table 4 of Qin et al. 2010: fold i trains on S_i, S_i+1, S_i+2, validates on S_i+3 and
    tests on S_i+4.
    """
    layout = subject.layout or {}
    tests = {fold: frozenset(_part(layout, fold, "test")) for fold in layout}
    every = frozenset(query for files in layout.values() for part in files.values() for query in part.query_ids)
    wrong: list[str] = []
    for a, b in combinations(layout, 2):
        if tests[a] & tests[b]:
            wrong.append(f"{a} and {b} test on {len(tests[a] & tests[b]):,} common queries")
    never = every - frozenset().union(*tests.values())
    if never:
        wrong.append(f"{len(never):,} queries are never tested")
    folds = list(layout)
    odd = set()
    for i, fold in enumerate(folds):
        validated, trained = _part(layout, fold, "vali"), _part(layout, fold, "train")
        if validated != tests[folds[i - 1]]:
            wrong.append(f"{fold} does not validate on the test part of {folds[i - 1]}")
            odd.add(fold)
        if trained != every - tests[fold] - validated:
            wrong.append(f"{fold} does not train on all the other parts")
            odd.add(fold)
    if not wrong:
        return None
    return Finding(
        "rotation", "warning", max(len(odd), 1), len(folds),
        f"the {len(folds)} folds are not a rotation: {'; '.join(wrong[:5])}{'; …' if len(wrong) > 5 else ''}",
        recommendation="LETOR (Qin et al. 2010, Table 4): fold i trains on S_i, S_i+1, S_i+2, validates on S_i+3 and "
        "tests on S_i+4, so that every query is tested once; otherwise means over folds are not means over queries",
        examples=some(sorted(odd)),
    )  # fmt: skip


def _part(layout: Layout, fold: str, name: str) -> frozenset[str]:
    part = layout[fold].get(name)
    return frozenset(part.query_ids) if part else frozenset()


@check("feature_numbers", "parts with different numbers of features", _has_folds)
def feature_numbers(subject: Subject) -> Finding | None:
    """Parts that have fewer features than others: a model trained on one fails on, or misreads, the other."""
    widths = {f"{fold} {name}".lstrip(): part.features for fold, files in (subject.layout or {}).items()
              for name, part in files.items()}  # fmt: skip
    most = max(widths.values(), default=0)
    narrow = [place for place, width in widths.items() if width < most]
    if not narrow:
        return None
    shown = ", ".join(f"{place} {widths[place]}" for place in narrow[:5])
    return Finding(
        "feature_numbers", "warning", len(narrow), len(widths),
        f"{of(len(narrow), len(widths), 'parts')} {verb(len(narrow), 'have', 'has')} fewer than {most} features: "
        f"{shown}{', …' if len(narrow) > 5 else ''}",
        recommendation=f"read all parts with {most} features; what a sparse file leaves out is 0",
        examples=some(narrow), parts=tuple((place, width) for place, width in widths.items()),
    )  # fmt: skip
