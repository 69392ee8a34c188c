"""Display of an explanation in a notebook: the viewer of psi report inside the cell."""

from __future__ import annotations

import html
import pathlib

from . import _plots
from ._directory import Directory

# Maximum rows of the page. The notebook saves it: 200 rows of twelve columns take about 60 kB, and the viewer 370 kB.
_ROWS = 200


def page(e: _plots.Explained) -> str:
    """Return a summary and the viewer in a sandboxed frame, which works offline."""
    words = html.escape(repr(e)).replace("\n", "<br>")
    if len(e) == 0:
        return f"<p>{words}</p>"
    shown = e if len(e._models) == 1 else e[:, 0]
    shown = shown if len(shown) <= _ROWS else shown[_plots.places(len(shown), _ROWS)]
    try:
        with Directory() as directory:
            path = _plots.report(shown, directory / "report.html")
            document = pathlib.Path(path).read_text(encoding="utf-8")
    except ValueError as err:  # the summary is better than an empty cell
        return f"<p>{words}</p><p>{html.escape(str(err))}</p>"
    note = "" if len(e) == len(shown) else f"<br>The page below shows {len(shown)} of these rows, chosen at random."
    note += "" if len(e._models) == 1 else f"<br>The page below shows the output {html.escape(shown.outputs[0])}."
    return (
        f'<p>{words}{note}</p><iframe title="Explanation" sandbox="allow-scripts" loading="lazy" '
        f'style="width:100%;height:42rem;border:1px solid #8884" srcdoc="{html.escape(document)}"></iframe>'
    )
