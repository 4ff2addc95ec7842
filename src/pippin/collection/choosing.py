"""Which features does a build compute, and what do they need? The choices that come before the work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pippin.collection.collection import Collection
from pippin.collection.encoder import Encoder
from pippin.collection.features import SETS, BoundFeature, parse_features
from pippin.collection.recipe import Recipe
from pippin.collection.sharded import Spread
from pippin.errors import DataError

EXTRACTED = "extracted_title"
DENSE = SETS["dense"].texts


def choose_features(text: str, collection: Collection, *, dense: bool = False) -> tuple[BoundFeature, ...]:
    """The features asked for; `auto` (or `auto proximity`, with more behind it) are those that fit.

    `dense`: whether there are vectors, so that those of the set `dense` come last unless they are asked for.
    """
    first, *more = re.split(r"[\s,]+", text.strip(), maxsplit=1)
    behind = [bound for one in more for bound in parse_features(one)]
    asked = [*_fitting(collection), *behind] if first == "auto" else parse_features(text)
    found = tuple(replace(b, stream=collection.stream(b.stream)) if b.stream else b for b in asked)
    there = {bound.text for bound in found}
    return parse_features([*found, *(name for name in DENSE if dense and name not in there)])


def _fitting(collection: Collection) -> tuple[BoundFeature, ...]:
    """“Gov”'s features where pages have urls, else OHSUMED's fifteen on every stream."""
    if {"body", "anchor", "title", "url"} <= set(collection.streams):
        return parse_features("gov")
    fifteen = [bound.text.partition("@")[0] for bound in parse_features("ohsumed") if bound.stream == "title"]
    return parse_features([f"{name}@{stream}" for stream in collection.all_streams for name in fifteen])


def encoder_of(recipe: Recipe, features: Sequence[BoundFeature], spread: Spread | None) -> Encoder | None:
    """The model of dense features, where they are asked for."""
    if recipe.dense is None:
        asked = [bound.text for bound in features if bound.text in DENSE]
        if asked:
            raise DataError(f"{asked[0]} is a feature of vectors; name the folder of their model (--dense FOLDER)")
        return None
    if spread is not None:
        raise DataError("vectors are made and searched by one process; build without a cluster to have them")
    return Encoder(recipe.dense)


def with_extracted_title(collection: Collection, features: Sequence[BoundFeature]) -> Collection:
    """Pages without mark-up have no title but the one that they are given: it stands for the extracted one."""
    asked = any(bound.stream == EXTRACTED for bound in features)
    if not asked or EXTRACTED in collection.all_streams or "title" not in collection.streams:
        return collection
    described = {**collection.descriptions, EXTRACTED: "the title, for want of mark-up to extract one from"}
    return replace(collection, unions={**collection.unions, EXTRACTED: ("title",)}, descriptions=described)
