"""Makes the notebooks from the .py files beside them.

    python demos/notebooks.py
    python demos/notebooks.py --check

Both commands run every notebook from top to bottom. The first writes demos/*.ipynb and
demos/solutions.md. The second writes nothing: it fails if a cell fails, or if a committed file is
out of date. It does not compare pictures, because fonts differ between machines, nor the outputs of
cells tagged `optional`, which need a package that may be missing.

If a text ends in a question, readers should answer it before they run the cells that follow. So the
outputs of these cells, up to the next text, are not saved. A text tagged `answer` is left out, too:
solutions.md has these texts, with the questions and what the cells print. Versions, times and
memory addresses are left out, so a second run gives the same files.

Needs jupytext, nbclient and ipykernel. Takes about twenty seconds.
"""

import argparse
import base64
import io
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from PIL import Image

try:
    import jupytext
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
except ImportError as missing:
    raise SystemExit(
        f"notebooks.py needs {missing.name}: pip install jupytext nbclient ipykernel"
    ) from missing

HERE = Path(__file__).resolve().parent
NAMES = (
    "lecture",
    "exercises",
    "backprop_in_pictures",
    "from_scalars_to_arrays",
    "after_the_lecture",
)
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
PICTURES = ("image/svg+xml", "image/png")
DRAWN = (*PICTURES, "text/html")  # depend on fonts: a page of explain() contains a picture
COLOURS = 256  # enough for a plot: lines, letters, shades, and those at their borders


def unexecuted(source: str) -> Any:
    """The notebook of a .py file in the percent format, without outputs."""
    notebook = jupytext.reads(source, fmt="py:percent")
    notebook.metadata = metadata()
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i}"  # by default it is random
        cell.metadata = {key: cell.metadata[key] for key in cell.metadata if key == "tags"}
    return notebook


def metadata() -> Any:
    """The metadata that Jupyter needs, and nothing else."""
    return nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})


def executed(source: str) -> tuple[Any, list[str]]:
    """The notebook with its outputs, from a fresh kernel in an empty folder, and its solutions."""
    notebook = unexecuted(source)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=300,
            kernel_name=KERNEL["name"],
            resources={"metadata": {"path": folder}},
            coalesce_streams=True,
            record_timing=False,
            extra_arguments=["--IPKernelApp.log_level=ERROR"],  # no connection messages
        ).execute()
    notebook.metadata = metadata()  # without the version that the kernel added
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            clean(output)
    solved = list(solutions(notebook.cells))
    for cell in answers(notebook.cells):
        cell.outputs = []
    notebook.cells = [cell for cell in notebook.cells if not is_answer(cell)]
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i}"
    return notebook, solved


def answers(cells: Iterable[Any]) -> Iterator[Any]:
    """The code cells between a text that ends in a question and the next text."""
    asked = False
    for cell in cells:
        if cell.cell_type == "markdown":
            asked = cell.source.rstrip().endswith("?")
        elif asked:
            yield cell


def is_answer(cell: Any) -> bool:
    """Whether a cell is the answer to a question."""
    return "answer" in cell["metadata"].get("tags", ())


def solutions(cells: Iterable[Any]) -> Iterator[str]:
    """The question, what the cells print, and the answer, for each cell that is an answer."""
    question, printed = "", ""
    for cell in cells:
        if is_answer(cell):
            shown = f"```\n{printed.rstrip()}\n```\n\n" if printed else ""
            yield f"{question}\n\n{shown}{cell.source}"
        elif cell.cell_type == "markdown":
            paragraphs = cell.source.rstrip().split("\n\n")
            last = paragraphs[-2:] if paragraphs[-1].startswith("- ") else paragraphs[-1:]
            question = "\n".join(f"> {line}".rstrip() for line in "\n\n".join(last).splitlines())
            printed = ""
        else:
            printed += "".join(o.text for o in cell.outputs if o.output_type == "stream")


def clean(output: Any) -> None:
    """Removes from an output what depends on the machine, and what is not shown."""
    if output.output_type == "stream":
        if output.name == "stderr":
            raise ValueError(f"a cell writes to stderr: {output.text.strip()}")
        return
    output.metadata = {}
    pictures = {kind: lean(kind, output.data[kind]) for kind in PICTURES if kind in output.data}
    output.data = pictures or output.data  # the text beside a picture has a memory address


def lean(kind: str, content: str) -> str:
    """A picture without the versions of the programs that drew it; a PNG gets fewer colours."""
    if kind == "image/svg+xml":
        return re.sub(r"<!--.*?-->\n?", "", content, flags=re.DOTALL)
    image = Image.open(io.BytesIO(base64.b64decode(content))).convert("RGBA")
    paper = Image.new("RGBA", image.size, "white")  # otherwise transparent pixels turn black
    small = io.BytesIO()
    paper.alpha_composite(image)
    all_hues = Image.Quantize.MAXCOVERAGE  # a thin line may be the only one of its colour
    paper.convert("RGB").quantize(COLOURS, all_hues).save(small, "png", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


def comparable(cell: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The parts of a cell that are the same on all machines."""
    cell = dict(cell)
    outputs = cell.pop("outputs", [])
    if "optional" in cell["metadata"].get("tags", ()):
        return cell, []
    shown = [dict(output.get("data", {"text": output.get("text")})) for output in outputs]
    return cell, [
        {kind: "a picture" if kind in DRAWN else text for kind, text in data.items()}
        for data in shown
    ]


def differences(committed: Any, fresh: Any) -> Iterator[str]:
    """The parts of a committed notebook that are out of date, a line for each."""
    if len(committed.cells) != len(fresh.cells):
        yield f"{len(committed.cells)} cells, but its source has {len(fresh.cells)}"
        return
    if committed.metadata != fresh.metadata:
        yield f"metadata {dict(committed.metadata)}, expected {dict(fresh.metadata)}"
    for i, cells in enumerate(zip(committed.cells, fresh.cells, strict=True)):
        (old, old_shown), (new, new_shown) = map(comparable, cells)
        first_line = (new["source"].splitlines() or [""])[0]
        if old != new:
            yield f"cell {i} differs from the source: {first_line}"
        elif old_shown != new_shown:
            yield f"cell {i} has different outputs: {first_line}\n  {old_shown}\n  {new_shown}"


def solutions_of(solved: Mapping[str, Iterable[str]]) -> str:
    """The text of solutions.md; `solved` maps the name of each notebook to its solutions."""
    about = "To the questions of the notebooks, in their order. `notebooks.py` makes this file."
    parts = [f"# Solutions\n\n{about}"]
    for name, texts in solved.items():
        parts += [f"## {name}.ipynb", *texts]
    return "\n\n".join(parts) + "\n"


def text_of(notebook: Any) -> str:
    """The content of the file, which is the same on all systems."""
    return f"{nbformat.writes(notebook)}\n"


def main() -> None:
    """Writes the notebooks, or checks the committed ones."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare and write nothing")
    check = parser.parse_args().check
    found, made = [], {}
    for name in NAMES:
        path = HERE / f"{name}.ipynb"
        try:
            fresh, made[name] = executed((HERE / f"{name}.py").read_text(encoding="utf-8"))
        except (CellExecutionError, ValueError) as error:
            found.append(f"{path.name}: {error}")
            continue
        if check:
            if path.exists():
                committed = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
                found += [f"{path.name}: {line}" for line in differences(committed, fresh)]
            else:
                found.append(f"{path.name}: file not found")
        else:
            path.write_text(text_of(fresh), encoding="utf-8", newline="\n")
        print(f"{path.name}: {len(fresh.cells)} cells, {len(text_of(fresh)) / 1000:.0f} kB")
    path, text = HERE / "solutions.md", solutions_of(made)
    if check and not (path.exists() and path.read_text(encoding="utf-8") == text):
        found.append(f"{path.name}: out of date")
    if not check and not found:
        path.write_text(text, encoding="utf-8", newline="\n")
    if found:
        sys.exit("\n".join([*found, "to write the notebooks again: python demos/notebooks.py"]))


if __name__ == "__main__":
    main()
