"""Gradient-boosted trees on LightGBM: parameters, binned data sets, and the text of a model."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.kernels import threads
from pippin.kernels.checksum import xxh3
from pippin.kernels.scoring import Forest, Missing, Trees, read_numbers
from pippin.models.importers.lightgbm import read_text
from pippin.models.model import ZERO_THRESHOLD, TreeEnsemble
from pippin.rankers.base import QUICK_ROUNDS, EarlyStopping, Features, Ranker, check_finite, read_count
from pippin.rankers.parameters import above_zero, check_minima, parameter
from pippin.rankers.training_data import init_score, row_weights
from pippin.storage.manifest import matches_schema

if TYPE_CHECKING:
    import lightgbm
    from lightgbm import Booster

F64 = NDArray[np.float64]
# (scores, round, bag) → gradient and second derivative of the loss
Gradient = Callable[[F64, int, int], tuple[F64, F64]]
# Documents that LightGBM samples to find bins: it needs 12 bytes per value, so its default of 200,000 would take more
# memory than the features of most data sets.
_BIN_SAMPLE = 50_000
# Below this many values one thread is faster; the trees are the same.
_SINGLE_THREAD_VALUES = 4_000_000
# Minimum number of documents and of features per tree, whatever the fractions.
_MINIMUM_SAMPLE = (500, 10)
# Attempts to grow a tree with other random documents and features before training ends.
_MAX_ATTEMPTS = 10
# Minimum sum of second derivatives in a leaf: a leaf without any has an undefined Newton step, and LightGBM, which
# estimates the number of documents from that sum, would split it by rounding errors.
_MIN_HESSIAN = 1e-3
# Number of training queries below which trees are small and sampled unless this is set; and the fractions for many and
# for few queries. They were selected on validation sets, see `docs/notes/rankers-measured.md`.
FEW = 100
_SMALL_TREE = 6  # leaves for few queries
_FRACTIONS: Mapping[str, tuple[float, float]] = {"bagging_fraction": (1.0, 0.5), "feature_fraction": (1.0, 0.3)}
# A leaf for every 80 queries and 3,000 documents, from 10 to 31. The documents of a query share its noise, so that more
# documents of the same queries do not make the value of a leaf more reliable, and neither do queries that are short.
LEAF_QUERIES, LEAF_DOCUMENTS, LEAVES = 80, 3_000, (10, 31)
LEAF_RULE = (
    f"one for every {LEAF_QUERIES} training queries and {LEAF_DOCUMENTS:,} documents, from {LEAVES[0]} to {LEAVES[1]}"
)
_FEW_QUERIES = f"for fewer than {FEW} training queries"
# Number of documents from which the learning rate is larger (the two rates) and λ is damped, unless they are set.
MANY = 50_000
_RATES = (0.05, 0.1)


class BoostedRanker(Ranker):
    """A sum of regression trees, each fitted to the gradient at the current scores (Friedman 2001)."""

    requires = ("lightgbm", "scipy")
    allow_nan = True
    supports_sample_weight = True
    supports_init_score = True
    is_iterative = True
    one_standard_error_rule = True
    small_limits: ClassVar[Mapping[str, int]] = QUICK_ROUNDS
    small_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"num_leaves": (None, 31)}
    has_small_trees: ClassVar[bool] = True  # whether trees have fewer leaves if there are few queries

    rounds: int = parameter(1000, "maximum number of trees")
    num_leaves: int | None = parameter(
        None, f"maximum number of leaves per tree; None: {LEAF_RULE}, or {_SMALL_TREE} {_FEW_QUERIES}"
    )
    learning_rate: float | None = parameter(
        0.1, f"factor of each tree; None: 0.05, or 0.1 for {MANY:,} documents or more"
    )
    min_data_in_leaf: int = parameter(20, "minimum number of documents in a leaf")
    lambda_l2: float = parameter(0.0, "L2 regularisation of leaf values")
    max_bin: int = parameter(255, "maximum number of bins per feature")
    bagging_fraction: float | None = parameter(
        1.0, f"fraction of the documents per tree (at least 500); None: 1, or 0.5 {_FEW_QUERIES}"
    )
    feature_fraction: float | None = parameter(
        1.0, f"fraction of the features per tree (at least 10); None: 1, or 0.3 {_FEW_QUERIES}"
    )
    n_bags: int = parameter(1, "ensembles with different random fractions, whose scores are averaged")
    early_stopping_rounds: int | None = parameter(
        100, "rounds without improvement on the validation set before training stops; None: never"
    )
    measure: str = parameter("NDCG@10", "measure for early stopping")
    convention: str | Convention = parameter("official", "convention of the measure")
    seed: int = parameter(1, "seed of bagging")
    verbose: bool = parameter(False, "show progress")

    _network: ClassVar[Mapping[str, Any]] = {}  # LightGBM's network parameters in distributed training

    def _gradient(self, train: Dataset) -> Gradient:
        raise NotImplementedError

    def _weighted_gradient(self, train: Dataset) -> Gradient:
        """Return the gradient times the weight of each document's query; it raises NotFinite for infinite values.

        LightGBM stores gradients in single precision, so values beyond its range are not finite either.
        """
        plain, weights, start = self._gradient(train), row_weights(train), init_score(train)

        def gradient(scores: F64, round_: int, bag: int) -> tuple[F64, F64]:
            first, second = plain(scores if start is None else start + scores, round_, bag)
            if weights is not None:
                first, second = weights * first, weights * second
            with np.errstate(over="ignore"):
                check_finite("a gradient", first.astype(np.float32), second.astype(np.float32))
            return first, second

        return gradient

    def _grow(self, train: Dataset, valid: Dataset | None) -> None:
        """Grow the ensembles up to the best round into `boosters_`."""
        self.resolved_ = resolved = self._resolve_defaults(train)
        self.reasons_ = _explain_defaults(train, resolved)
        parameters = self._tree_parameters(train, {**self.get_params(), **resolved})
        binned: BinnedDatasetCache | None = vars(self).pop("_binned", None)
        growth = _Growth(train, valid, parameters, self.n_bags, self.seed, self._network, binned)
        gradient, first = self._weighted_gradient(train), init_score(valid)
        with EarlyStopping.of(self, valid) as stopping:
            for round_ in range(self.rounds):
                if not growth.step(gradient, round_):
                    break  # no split is left
                if stopping.update(growth.valid_scores if first is None else lambda: first + growth.valid_scores()):
                    break
        self.curve_ = stopping.curve
        self.rounds_ = stopping.best + 1
        self.boosters_ = growth.texts(stopping.best)
        self._load_trees()

    def is_single_threaded(self, train: Dataset) -> bool:
        """Return whether the table is so small that LightGBM runs on one thread."""
        return train.features.size < _SINGLE_THREAD_VALUES and not self._network and not self.verbose

    def use_cache(self, cache: dict[str, Any]) -> None:
        """Share binned data sets between fits that differ only in their trees."""
        self._binned: BinnedDatasetCache = cache.setdefault("binned", BinnedDatasetCache())

    def resolve_defaults(self, queries: int, documents: int) -> dict[str, Any]:
        """Return the values of parameters that are None for a training set of this size."""
        leaves = min(max(min(queries // LEAF_QUERIES, documents // LEAF_DOCUMENTS), LEAVES[0]), LEAVES[1])
        defaults: dict[str, Any] = {name: both[queries < FEW] for name, both in _FRACTIONS.items()}
        defaults |= {"num_leaves": _SMALL_TREE if queries < FEW and self.has_small_trees else leaves}
        defaults |= {"learning_rate": _RATES[documents >= MANY], "damp_close_scores": documents >= MANY}
        return {name: value for name, value in defaults.items() if getattr(self, name, value) is None}

    def _resolve_defaults(self, train: Dataset) -> dict[str, Any]:
        """Return the values of parameters that are None on this data."""
        return self.resolve_defaults(train.queries, len(train))

    def _check(self) -> None:
        check_minima(self, rounds=1, num_leaves=2, min_data_in_leaf=1, n_bags=1, max_bin=2)
        check_minima(self, lambda_l2=0, early_stopping_rounds=1, seed=0)
        for name in ("learning_rate", "bagging_fraction", "feature_fraction"):
            if getattr(self, name) is None:
                continue
            above_zero(self, name)
            if name != "learning_rate" and getattr(self, name) > 1:
                raise DataError(f"{self.name}: {name} must be at most 1, got {getattr(self, name)}")

    def _tree_parameters(self, train: Dataset, params: Mapping[str, Any]) -> dict[str, Any]:
        documents, columns = train.features.shape
        rows = max(params["bagging_fraction"], min(1.0, _MINIMUM_SAMPLE[0] / documents))
        features = max(params["feature_fraction"], min(1.0, _MINIMUM_SAMPLE[1] / columns))
        return {
            "objective": "none", "metric": "None", "boosting": "gbdt", "verbosity": -1,
            "num_leaves": params["num_leaves"], "max_depth": -1, "learning_rate": params["learning_rate"],
            "min_data_in_leaf": self.min_data_in_leaf, "min_sum_hessian_in_leaf": _MIN_HESSIAN,
            "lambda_l2": self.lambda_l2,
            "max_bin": self.max_bin, "min_data_in_bin": 1, "bin_construct_sample_cnt": _BIN_SAMPLE,
            "feature_pre_filter": False, "feature_fraction": features,
            "bagging_fraction": rows, "bagging_freq": int(rows < 1),
            # Threads work on different features, so their number does not change any sum.
            "deterministic": True, "force_col_wise": True,
            "num_threads": 1 if train.features.size < _SINGLE_THREAD_VALUES else threads(),
        }  # fmt: skip

    def _predict(self, features: Features) -> NDArray[np.float64]:
        return self._load_trees()[0].scores(features) / max(1, len(self.boosters_))

    def _load_trees(self) -> tuple[Forest, list[Ensemble]]:
        """Parse the model texts once; a loaded and a trained model score in the same way."""
        cached: tuple[list[str], Forest, list[Ensemble]] | None = vars(self).get("_read")
        if cached is None or cached[0] is not self.boosters_:
            width = len(self.feature_names_)
            ensembles = [read_trees(text, width) for text in self.boosters_]
            forest = Forest([ensemble.trees for ensemble in ensembles], width, ZERO_THRESHOLD)
            cached = self._read = (self.boosters_, forest, ensembles)
        return cached[1:]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_read", "_binned")}

    def _to_model(self) -> TreeEnsemble:
        bags = tuple(read_text(text, self.feature_names_).bags[0] for text in self.boosters_)
        return TreeEnsemble(self.feature_names_, bags, divisor=float(max(1, len(bags))))

    def _state(self) -> dict[str, Any]:
        reasons = {"reasons": self.reasons_} if self.reasons_ else {}
        return {
            **reasons,
            "resolved": self.resolved_,
            "rounds": self.rounds_,
            "ensembles": [{"lightgbm": text.split("\n")} for text in self.boosters_],
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.rounds_ = read_count(state["rounds"])
        self.reasons_ = str(state.get("reasons", ""))
        self.resolved_ = {str(name): value for name, value in dict(state.get("resolved", {})).items()}
        if not matches_schema(state["ensembles"], [{"lightgbm": [str]}]):
            raise ValueError("invalid trees: expected lines of text")
        self.boosters_ = ["\n".join(ensemble["lightgbm"]) for ensemble in state["ensembles"]]
        for text, ensemble in zip(self.boosters_, state["ensembles"], strict=True):
            if "sha256" in ensemble and ensemble["sha256"] != _digest(text):  # of models of version 1
                raise ValueError("the trees are not those that were written")
        self._load_trees()

    def importance(self) -> dict[str, float]:
        """Return the total gain of the splits on each feature, averaged over the ensembles."""
        total = np.zeros(len(self.feature_names_))
        for ensemble in self._load_trees()[1]:
            total += np.bincount(ensemble.trees.features, np.maximum(ensemble.gains, 0), len(total))
        return dict(zip(self.feature_names_, (total / max(1, len(self.boosters_))).tolist(), strict=True))


def _explain_defaults(train: Dataset, resolved: Mapping[str, Any]) -> str:
    """Return sentences about parameters that follow from the size of the data."""
    sentences = []
    if resolved.get("num_leaves", 0) > LEAVES[0]:
        sentences.append(
            f"{train.queries:,} training queries and {len(train):,} documents, so num_leaves={resolved['num_leaves']}"
        )
    if train.queries < FEW:
        is_small = resolved.get("num_leaves") == _SMALL_TREE
        names = ["num_leaves"] * is_small + [*_FRACTIONS]
        changes = [f"{name}={resolved[name]}" for name in names if name in resolved]
        effect = "small trees" if is_small else "random parts of the data for each tree"
        if changes:
            sentences.append(f"only {train.queries} training queries, so {effect}: {', '.join(changes)}")
    if len(train) >= MANY:
        changes = [f"{name}={resolved[name]}" for name in ("learning_rate", "damp_close_scores") if resolved.get(name)]
        if changes:
            sentences.append(f"{len(train):,} training documents, so {', '.join(changes)}")
    return ". ".join(sentences)


class _Growth:
    """Ensembles grown in parallel on one data set, each with its own random rows and features."""

    def __init__(
        self,
        train: Dataset,
        valid: Dataset | None,
        parameters: Mapping[str, Any],
        bags: int,
        seed: int,
        network: Mapping[str, Any],
        binned: BinnedDatasetCache | None,
    ) -> None:
        import lightgbm

        binning = {**parameters, "data_random_seed": seed}
        self.boosters: list[Booster] = []
        context = (
            nullcontext(make_lightgbm_datasets(train, valid, binning))
            if binned is None
            else binned.of(train, valid, binning)
        )
        with context as (data, valid_data):
            for bag in range(bags):
                # The first joins the network before binning, so that all processes use the same bins.
                network_parameters = {key: value for key, value in network.items() if bag == 0 or key != "machines"}
                self.boosters.append(lightgbm.Booster({**binning, **_seeds(seed, bag), **network_parameters}, data))
            if valid_data is not None:
                for booster in self.boosters:
                    booster.add_valid(valid_data, "valid")
        sampled = parameters["bagging_fraction"] < 1 or parameters["feature_fraction"] < 1
        self._max_attempts = _MAX_ATTEMPTS if sampled else 1
        self._sizes: list[list[int]] = []  # trees of each ensemble after each round

    def step(self, gradient: Gradient, round_: int) -> bool:
        """Add a tree to each ensemble; return False if none could grow."""
        has_grown = [self._grow_one(bag, gradient, round_) for bag in range(len(self.boosters))]
        self._sizes.append([booster.current_iteration() for booster in self.boosters])
        return any(has_grown)

    def _grow_one(self, bag: int, gradient: Gradient, round_: int) -> bool:
        def objective(scores: Any, _: Any) -> tuple[F64, F64]:
            return gradient(np.asarray(scores, np.float64), round_, bag)

        # `update` returns True if no split was found and no tree was added.
        return any(not self.boosters[bag].update(fobj=objective) for _ in range(self._max_attempts))

    def valid_scores(self) -> F64:
        """Return the mean validation scores of the ensembles, which LightGBM updates tree by tree."""
        bag_scores: list[F64] = []

        def keep(scores: Any, _: Any) -> tuple[str, float, bool]:
            bag_scores.append(np.array(scores, np.float64))
            return "kept", 0.0, True

        for booster in self.boosters:
            booster.eval_valid(keep)
        total = bag_scores[0]
        for scores in bag_scores[1:]:
            total += scores
        return total / len(bag_scores)

    def texts(self, best: int) -> list[str]:
        """Return the texts of the ensembles after round `best`."""
        if best < 0:
            return []
        return [_model_text(booster, size) for booster, size in zip(self.boosters, self._sizes[best], strict=True)]


def _seeds(seed: int, bag: int) -> dict[str, int]:
    """Return the seeds of one ensemble."""
    return {"bagging_seed": seed + 7919 * bag, "feature_fraction_seed": seed + 7919 * bag + 1}


def _model_text(booster: Booster, trees: int) -> str:
    """Return LightGBM's model text without the training parameters, which depend on the number of threads."""
    text: str = booster.model_to_string(num_iteration=trees, importance_type="gain")
    head, _, tail = text.partition("\nparameters:")
    return head.rstrip("\n") + "\n" + tail.partition("end of parameters\n")[2]


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def require_comparable_queries(data: Dataset, name: str) -> NDArray[np.int64]:
    """Return the queries with documents of different labels; DataError if there are none."""
    filled = np.flatnonzero(np.diff(data.offsets))
    starts = data.offsets[filled]
    comparable = filled[np.minimum.reduceat(data.labels, starts) < np.maximum.reduceat(data.labels, starts)]
    if not len(comparable):
        raise DataError(
            f"no query of {data.name} ({len(data)} sample{'s' * (len(data) != 1)}) has documents of different labels, "
            f"so {name} cannot learn an order"
        )
    return comparable


F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
_TREE_KEYS = ("num_leaves", "num_cat", "is_linear", "shrinkage")  # one number each
_NODE_KEYS = (
    "split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child", "internal_value",
    "internal_weight", "internal_count",
)  # fmt: skip
_LEAF_KEYS = ("leaf_value", "leaf_weight", "leaf_count")
_KEYS = (*_TREE_KEYS, *_NODE_KEYS, *_LEAF_KEYS)
_INTEGER_KEYS = {
    "num_leaves", "num_cat", "is_linear", "split_feature", "decision_type", "left_child", "right_child",
    "internal_count", "leaf_count",
}  # fmt: skip
_HEADER = (
    r"tree\nversion=v\d+\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=(\d{1,9})\n"
    r"feature_names=([^\n]*)\nfeature_infos=((?:none|\[[-+.e0-9]+:[-+.e0-9]+\]| )*)\ntree_sizes=([ \d]*)\n\n"
)
_TAIL = r"end of trees\n\nfeature_importances:\n(?:Column_\d+=\d+\n)*\npandas_categorical:null\n\n?"
# Decision types: 2: missing values go left, 4: zeros are missing, 8: NaN is missing.
_MISSING = {
    0: Missing.AS_ZERO, 2: Missing.AS_ZERO, 4: Missing.ZERO_RIGHT, 6: Missing.ZERO_LEFT, 8: Missing.NAN_RIGHT,
    10: Missing.NAN_LEFT,
}  # fmt: skip


class Ensemble(NamedTuple):
    """The trees of one text, and the gain of each split."""

    trees: Trees
    gains: F32


def read_trees(text: str, features: int) -> Ensemble:
    """Parse a model text; ValueError unless it is an ensemble of trees over this many features.

    The check is strict because LightGBM itself crashes on some damaged texts.
    """
    head = re.match(_HEADER, text)
    if head is None or int(head[1]) != features - 1 or head[2].split(" ") != [f"Column_{i}" for i in range(features)]:
        raise ValueError("the header of the trees does not fit the features")
    if len(head[3].split()) != features:
        raise ValueError("the trees lack the range of a feature")
    _check_infos(head[3])
    end = text.rfind("end of trees\n")
    if end < head.end() or re.fullmatch(_TAIL, text[end:]) is None:
        raise ValueError("the trees have an invalid end")
    blocks = text[head.end() : end]
    sizes = [int(size) for size in head[4].split()]
    if sum(sizes) != len(blocks.encode()):
        raise ValueError("tree_sizes does not fit the texts of the trees")
    at, trees = 0, []
    for number, size in enumerate(sizes):
        block = blocks[at : at + size]
        if not block.startswith(f"Tree={number}\n") or not block.endswith("\n\n\n"):
            raise ValueError(f"tree {number} is not at its position")
        trees.append(_parse_tree_lines(block[:-3], number))
        at += size
    return _build_ensemble({key: [tree[key] for tree in trees] for key in _KEYS}, features)


def _check_infos(infos: str) -> None:
    for info in infos.split():
        if info != "none":
            low, high = (float(end) for end in info[1:-1].split(":"))
            if not (np.isfinite(low) and np.isfinite(high)):
                raise ValueError("the range of a feature is not finite")


def _parse_tree_lines(block: str, number: int) -> dict[str, str]:
    """Return the values of a tree by key; every key must occur once, and no other."""
    values: dict[str, str] = {}
    for line in block.split("\n")[1:]:
        key, equals, value = line.partition("=")
        if not equals or key in values:
            raise ValueError(f"tree {number} has an unknown or repeated line")
        values[key] = value
    if values.keys() != set(_KEYS):
        raise ValueError(f"tree {number} has missing or unknown lines")
    return values


def _parse_numbers(texts: Sequence[str], key: str, counts: I64) -> F64:
    """Parse the numbers of one key in all trees; ValueError unless their counts are right."""
    found_counts = [text.count(" ") + 1 if text else 0 for text in texts]
    if not np.array_equal(found_counts, counts):
        raise ValueError(f"the number of values in {key} of a tree differs from its nodes or leaves")
    # LightGBM separates NaN from all values by an infinite threshold.
    text, infinite = " ".join(text for text in texts if text), key == "threshold"
    try:
        return read_numbers(text, int(counts.sum()), integers=key in _INTEGER_KEYS, infinite=infinite)
    except ValueError as error:
        raise ValueError(f"{error} in {key} of a tree") from None


def _build_ensemble(texts: dict[str, list[str]], features: int) -> Ensemble:
    """Build the trees from the texts by key; ValueError unless they are valid."""
    ones = np.ones(len(texts["num_leaves"]), np.int64)
    tree_values = {key: _parse_numbers(texts[key], key, ones) for key in _TREE_KEYS}
    if tree_values["num_cat"].any() or tree_values["is_linear"].any():
        raise ValueError("a tree has categories or linear leaves")
    longest = max(map(len, texts["leaf_value"]), default=0)
    if not ((tree_values["num_leaves"] >= 1) & (tree_values["num_leaves"] <= longest)).all():
        raise ValueError("num_leaves of a tree differs from its leaves")
    leaves = tree_values["num_leaves"].astype(np.int64)
    node_values = {key: _parse_numbers(texts[key], key, leaves - 1) for key in _NODE_KEYS}
    leaf_values = {key: _parse_numbers(texts[key], key, leaves) for key in _LEAF_KEYS}
    split_features, decision_types = node_values["split_feature"], node_values["decision_type"]
    if not ((split_features >= 0) & (split_features < features)).all():
        raise ValueError("a tree splits on an unknown feature")
    if not np.isin(decision_types, list(_MISSING)).all():
        raise ValueError("a tree has an unknown decision_type")
    if (node_values["internal_count"] < 0).any() or (leaf_values["leaf_count"] < 0).any():
        raise ValueError("a tree has a negative count")
    _check_children(node_values["left_child"], node_values["right_child"], leaves)
    missing_rules = np.array([_MISSING.get(kind, 0) for kind in range(max(_MISSING) + 1)], np.uint8)
    trees = Trees(
        leaves,
        split_features.astype(np.int32),
        node_values["threshold"],
        missing_rules[decision_types.astype(np.int64)],
        node_values["left_child"].astype(np.int32),
        node_values["right_child"].astype(np.int32),
        leaf_values["leaf_value"],
    )
    return Ensemble(trees, node_values["split_gain"].astype(np.float32))


def _check_children(left: NDArray[np.float64], right: NDArray[np.float64], leaves: I64) -> None:
    """Raise ValueError unless every node but the root, and every leaf, has one parent that precedes it.

    A child c ≥ 0 is a node of the same tree, c < 0 the leaf −1 − c. Children follow their parents in LightGBM's
    numbering, so one parent each is sufficient for a tree.
    """
    nodes = leaves - 1
    first_node, first_leaf = np.cumsum(nodes) - nodes, np.cumsum(leaves) - leaves
    tree = np.repeat(np.arange(len(leaves)), nodes)
    node_number = np.arange(len(tree)) - first_node[tree]
    reached = np.zeros(int(nodes.sum() + leaves.sum()), np.int64)
    for child in (left, right):
        is_node = child >= 0
        is_valid = np.where(is_node, (child > node_number) & (child < nodes[tree]), -child <= leaves[tree])
        if not is_valid.all():
            raise ValueError("a node of a tree has an unknown child, or one that precedes it")
        child_index = child.astype(np.int64)
        position = np.where(is_node, first_node[tree] + child_index, nodes.sum() + first_leaf[tree] - 1 - child_index)
        reached += np.bincount(position, minlength=len(reached))
    expected = np.ones(len(reached), np.int64)
    expected[first_node[nodes > 0]] = 0  # roots
    expected[nodes.sum() + first_leaf[nodes == 0]] = 0  # and the leaves that are a tree by themselves
    if not np.array_equal(reached, expected):
        raise ValueError("a tree has a node or a leaf with no parent or two")


# The parameters that determine the bins.
_BINNING_KEYS = ("max_bin", "min_data_in_bin", "bin_construct_sample_cnt", "feature_pre_filter", "data_random_seed")


class BinnedDatasetCache:
    """Binned training and validation sets, shared by fits in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[tuple[Any, ...], tuple[lightgbm.Dataset, lightgbm.Dataset | None]] = {}

    @contextmanager
    def of(
        self, train: Dataset, valid: Dataset | None, parameters: Mapping[str, Any]
    ) -> Iterator[tuple[lightgbm.Dataset, lightgbm.Dataset | None]]:
        """Lock and yield both sets, because LightGBM's Python objects are not thread-safe."""
        valid_digest = None if valid is None else _features_digest(valid)
        key = (*map(parameters.get, _BINNING_KEYS), _features_digest(train), valid_digest)
        with self._lock:
            if key not in self._made:
                self._made[key] = make_lightgbm_datasets(train, valid, parameters)
            yield self._made[key]


def make_lightgbm_datasets(
    train: Dataset, valid: Dataset | None, parameters: Mapping[str, Any]
) -> tuple[lightgbm.Dataset, lightgbm.Dataset | None]:
    """Return LightGBM data sets for training and validation; they are binned on first use."""
    import lightgbm

    data = lightgbm.Dataset(train.features, params=dict(parameters), free_raw_data=False)
    return data, None if valid is None else data.create_valid(valid.features, params=dict(parameters))


def _features_digest(data: Dataset) -> tuple[Any, ...]:
    """Return a key of the features, which determine the bins."""
    features = np.ascontiguousarray(data.features)
    return features.shape, features.dtype.str, xxh3(features.view(np.uint8).ravel())
