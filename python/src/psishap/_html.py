"""HTML for notebooks: explanations as the viewer of psi report, models as a table."""

from __future__ import annotations

import html
import pathlib
from collections.abc import Mapping
from typing import Any

from . import _picture, _psi
from ._attributions import Attributions
from ._axes import sample
from ._directory import Directory

# Maximum rows of the page. The notebook saves it: 200 rows of twelve columns take about 60 kB, and the viewer 370 kB.
_ROWS = 200


def page(e: Attributions, summary: str) -> str:
    """Return a summary and the viewer in a sandboxed frame, which works offline."""
    words = html.escape(summary).replace("\n", "<br>")
    count, features, _ = e._values.shape
    if count == 0 or features < len(e._models[0].players):  # the viewer shows all features
        return f"<p>{words}</p>"
    shown = e if len(e._models) == 1 else e.output(e.output_names[0])
    shown = shown if count <= _ROWS else shown[sample(count, _ROWS)]
    try:
        with Directory() as directory:
            path = _picture.report(shown, directory / "report.html")
            document = pathlib.Path(path).read_text(encoding="utf-8")
    except ValueError as err:  # the summary is better than an empty cell
        return f"<p>{words}</p><p>{html.escape(str(err))}</p>"
    note = "" if count <= _ROWS else f"<br>The page below shows {_ROWS} of these rows, chosen at random."
    note += "" if len(e._models) == 1 else f"<br>The page below shows the output {html.escape(e.output_names[0])}."
    return (
        f'<p>{words}{note}</p><iframe title="Explanation" sandbox="allow-scripts" loading="lazy" '
        f'style="width:100%;height:42rem;border:1px solid #8884" srcdoc="{html.escape(document)}"></iframe>'
    )


_METRICS = {
    "r2": "R²", "rmse": "root mean square error", "mae": "mean absolute error", "nll": "negative log likelihood",
    "coverage_50": "inside their 50 % interval", "coverage_90": "inside their 90 % interval", "accuracy": "accuracy", "auroc": "AUROC",
    "macro_auroc": "macro AUROC", "log_loss": "log loss", "average_precision": "average precision", "brier": "Brier score",
    "ece": "expected calibration error",
}  # fmt: skip
_BASELINES = {"mean": "constant", "linear": "linear model", "additive": "additive model"}


def model(manifest: Mapping[str, Any]) -> str:
    """Return a summary of a model: target, columns, metrics of the validation rows beside those of simple models, audit, warnings."""
    of = f"{manifest['task']} of <b>{html.escape(manifest['target'])}</b>"
    if manifest["classes"]:
        of += f" ({html.escape(', '.join(map(str, manifest['classes'])))})"
    parts = [f"<p>psishap model: {of}</p>"]
    kinds: dict[str, list[str]] = {}
    for column in manifest["columns"]:
        kinds.setdefault(column["kind"], []).append(column["name"])
    rows = [(f"{len(names)} of kind {kind}", [", ".join(names)]) for kind, names in kinds.items()]
    parts.append(_table(["columns", ""], rows, "left"))
    baselines = manifest.get("baselines") or []
    metrics = manifest.get("metrics") or {}
    if metrics:
        head = ["validation rows", "model", *(_BASELINES.get(b["name"], b["name"]) for b in baselines)]
        measured = [metrics, *(b["metrics"] for b in baselines)]
        lines = [(str(_METRICS.get(name, name)), [f"{m[name]:.4g}" if name in m else "" for m in measured]) for name in metrics]
        parts.append(_table(head, lines, "right"))
    audit = manifest.get("audit")
    if audit and audit.get("relative_rmse") is not None:
        error, own = audit["relative_rmse"], audit.get("standard_error")
        words = (
            f"Audit on {audit['rows']:,} rows: attributions differ from Shapley values by {100 * error:.2g} % (relative root mean square)"
        )
        words += "." if own is None else f"; sampling alone gives about {100 * own:.2g} %."
        parts.append(f"<p>{words}</p>")
    for warning in manifest.get("warnings") or []:
        parts.append(f"<p>⚠ {html.escape(_psi.in_parameters(warning['message'] + ' ' + (warning['remedy'] or '')))}</p>")
    return "".join(parts)


def _table(head: list[str], rows: list[tuple[str, list[str]]], align: str) -> str:
    top = "".join(f'<th style="text-align:left">{html.escape(name)}</th>' for name in head)
    lines = "".join(
        f'<tr><td style="text-align:left">{html.escape(name)}</td>'
        + "".join(f'<td style="text-align:{align}">{html.escape(cell)}</td>' for cell in cells)
        + "</tr>"
        for name, cells in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
