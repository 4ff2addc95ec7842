"""Tables and records of trained models: weights, feature importance, certificates of exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pippin.display.tables import Paragraph, Renderable, Table, format_number

if TYPE_CHECKING:
    from pippin.models.export import ExportResult
    from pippin.rankers.base import Ranker
    from pippin.rankers.models import ImportedModel


def model_parts(model: Ranker) -> list[Renderable]:
    """Return the parameters of a model, what the steps of a chain learned, and the weights of its features."""
    from pippin.rankers import Chain

    parameters = ", ".join(f"{k}={v}" for k, v in {**model.get_params(), **_resolved_parameters(model)}.items())
    steps = model.describe() if isinstance(model, Chain) else []
    return [Paragraph(f"{model.name}: {parameters}"), *map(Paragraph, steps), weights_table(model)]


def _resolved_parameters(model: Ranker) -> dict[str, Any]:
    """Return the values of parameters that followed from the size of the data, with the prefix of a chain's stage."""
    from pippin.rankers import Chain

    if isinstance(model, Chain):
        return {f"{model.labels[-1]}__{name}": value for name, value in _resolved_parameters(model.ranker_).items()}
    return {name: value for name, value in vars(model).get("resolved_", {}).items() if name in model.parameters}


def weights_table(model: Ranker) -> Table:
    """Return the weight or importance of each feature, the largest first."""
    record = model_record(model)
    rows = [[name, format_number(value, 6)] for name, value in record["features"].items()]
    return Table(["feature", record["counts"]], rows)


def model_record(model: Ranker) -> dict[str, Any]:
    """Return the parameters of a model and the weights of its features as a JSON record."""
    is_linear = "coef_" in vars(model)
    weights = dict(zip(model.feature_names_, vars(model)["coef_"], strict=True)) if is_linear else model.importance()
    return {
        "ranker": model.name, "parameters": model.get_params(), "resolved": _resolved_parameters(model),
        "counts": "weight" if is_linear else "importance",
        "features": dict(sorted(weights.items(), key=lambda item: -abs(item[1]))),
    }  # fmt: skip


def importance_table(record: dict[str, Any]) -> Table:
    """Return permutation importance with intervals, and SHAP values if the model has trees."""
    shap = record["shap"] or {}
    rows = [
        [row["feature"], f"{row['mean']:+.4f}", f"{row['low']:+.4f} … {row['high']:+.4f}",
         *([f"{shap[row['feature']]:.4f}"] if shap else [])]
        for row in record["permutation"]
    ]  # fmt: skip
    headers = ["feature", f"{record['measure']} lost", "95% interval", *(["mean |SHAP|"] if shap else [])]
    notes = [
        "lost: the drop when the feature is shuffled within queries",
        *(["SHAP: how far the feature moves documents of a query apart"] if shap else []),
    ]
    return Table(headers, rows, notes=notes)


def certificate_table(result: ExportResult) -> Table:
    """Return the certificate of an export as a table of one row."""
    certificate = result.certificate
    row = [
        certificate.target, certificate.checked_by, f"{certificate.largest_difference:.3g}",
        str(certificate.branch_changes), str(certificate.n_reordered_queries), f"{certificate.ndcg['before']:.6f}",
        f"{certificate.ndcg['after']:.6f}",
    ]  # fmt: skip
    headers = ["target", "checked by", "largest difference", "branch changes", "reordered queries", "NDCG@10", "after"]
    return Table(headers, [row], text_columns=2, notes=certificate.notes)


def describe_import(model: ImportedModel) -> str:
    """Return the origin, kind, features and scoring rules of an imported model in one line."""
    from pippin.models.model import NeuralNetwork, TreeEnsemble

    trained = model.model_
    kind = "a linear model"
    if isinstance(trained, TreeEnsemble):
        kind = f"{len(trained.trees()):,} trees"
    elif isinstance(trained, NeuralNetwork):
        kind = f"a network of {len(trained.layers)} layers"
    rules = trained.scoring.sentence(trees=trained.kind == "trees")
    return f"{model.origin_}, {kind}, {len(trained.names)} features; {rules}"
