"""The lines of the user's program that compute the nodes of a graph, where they are known.

A Value does not remember the line that made it. But if one of the caller's variables holds the
Value, and only one statement of the caller assigns to this variable, that statement made it.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping
from types import FrameType
from typing import Any

from micrograd.engine import Value, topological_order


def lines_of(root: Value, names: Mapping[str, Any], frame: FrameType) -> dict[int, str]:
    """For nodes in topological order, the statement of the calling function that assigns them.

    Args:
        root: the result of the graph.
        names: variables by name; only those that hold a Value count.
        frame: the frame of the caller, in which the variables were assigned.

    >>> import sys
    >>> x = Value(2.0)
    >>> lines_of(x, {"y": Value(3.0)}, sys._getframe())
    {}
    """
    place = {value: i for i, value in enumerate(topological_order(root))}
    wanted = {n: place[v] for n, v in names.items() if isinstance(v, Value) and v in place}
    statements = _assignments(frame) if wanted else {}
    return {
        i: statements[name][0] for name, i in wanted.items() if len(statements.get(name, ())) == 1
    }


def _assignments(frame: FrameType) -> dict[str, list[str]]:
    # The statements that assign each name, in the code that the frame runs.
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    try:
        body: Any = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    code = frame.f_code
    for node in ast.walk(body):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                body = node
    found: dict[str, list[str]] = {}
    for node in ast.walk(body):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    text = ast.get_source_segment(source, node) or ""
                    found.setdefault(name.id, []).append(text)
    return found
