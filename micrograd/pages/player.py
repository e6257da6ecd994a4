"""The page that plays a recorded training run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from micrograd.pages.page import html_page


def player(run: Mapping[str, Any]) -> str:
    """A self-contained HTML page: boundary, curves and network, with a slider.

    Args:
        run: the numbers to show, as `History.page` of `plot/history.py` collects them.

    >>> player({"names": ["a", "b"]})[:15]
    '<!doctype html>'
    """
    data = json.dumps(run, allow_nan=False, separators=(",", ":"))
    # A name may contain "</script>", which would end the script: escape "<".
    return html_page("player", run=data.replace("<", "\\u003c"))
