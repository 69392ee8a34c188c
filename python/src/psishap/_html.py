"""HTML for notebooks: explanations as the viewer of psi report, models as a table."""

from __future__ import annotations

import html
import pathlib

from . import _picture
from ._attributions import Attributions
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
    shown = shown if count <= _ROWS else shown[_picture.places(count, _ROWS)]
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
