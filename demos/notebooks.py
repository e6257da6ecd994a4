"""Makes the notebooks from the .py files beside them, and runs them from top to bottom.

    python demos/notebooks.py
    python demos/notebooks.py --check

The first command writes demos/*.ipynb anew. The second runs them too, but writes nothing: it fails
when a cell fails, or when a committed notebook is not what would be written now. Pictures are not
compared, since fonts differ from machine to machine, nor are outputs of cells tagged `optional`,
which need a package that may be missing.

Where a text ends in a question, the reader is to answer it before running the cells that follow, up
to the next text: what they show is not saved. What a notebook tells of the machine it ran on
(versions, times, addresses in memory) is left out, so that a second run gives the same file.

Needs jupytext, nbclient and ipykernel. Takes some ten seconds.
"""

import argparse
import base64
import io
import re
import sys
import tempfile
from pathlib import Path

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
NAMES = ("lecture", "backprop_in_pictures", "from_scalars_to_arrays")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
PICTURES = ("image/svg+xml", "image/png")
DRAWN = (*PICTURES, "text/html")  # where fonts tell: a page of explain() has a picture inside
COLOURS = 64  # of a plot: lines, letters and the shades at their borders


def unexecuted(source):
    """The notebook of a .py file in the percent format, without outputs."""
    notebook = jupytext.reads(source, fmt="py:percent")
    notebook.metadata = metadata()
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i}"  # otherwise a random one
        cell.metadata = {key: cell.metadata[key] for key in cell.metadata if key == "tags"}
    return notebook


def metadata():
    """What Jupyter has to know of a notebook, and no more."""
    return nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})


def executed(source):
    """The same with the outputs of a fresh kernel, which works in an empty folder."""
    notebook = unexecuted(source)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=300,
            kernel_name=KERNEL["name"],
            resources={"metadata": {"path": folder}},
            coalesce_streams=True,
            record_timing=False,
            extra_arguments=["--IPKernelApp.log_level=ERROR"],  # no word on how it is connected
        ).execute()
    notebook.metadata = metadata()  # the kernel has added its version
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            clean(output)
    for cell in answers(notebook.cells):
        cell.outputs = []
    return notebook


def answers(cells):
    """The cells of code between a text that ends in a question and the next text."""
    asked = False
    for cell in cells:
        if cell.cell_type == "markdown":
            asked = cell.source.rstrip().endswith("?")
        elif asked:
            yield cell


def clean(output):
    """Takes out of an output what tells of the machine, and what is not shown anyway."""
    if output.output_type == "stream":
        if output.name == "stderr":
            raise ValueError(f"a cell writes to stderr: {output.text.strip()}")
        return
    output.metadata = {}
    pictures = {kind: lean(kind, output.data[kind]) for kind in PICTURES if kind in output.data}
    output.data = pictures or output.data  # the text beside them has an address in memory


def lean(kind, content):
    """A picture without the versions of the programs that drew it; one of pixels in few colours."""
    if kind == "image/svg+xml":
        return re.sub(r"<!--.*?-->\n?", "", content, flags=re.DOTALL)
    image = Image.open(io.BytesIO(base64.b64decode(content))).convert("RGBA")
    paper = Image.new("RGBA", image.size, "white")  # without it, what is transparent turns black
    small = io.BytesIO()
    paper.alpha_composite(image)
    paper.convert("RGB").quantize(COLOURS).save(small, "png", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


def comparable(cell):
    """A cell as far as it is the same on all machines."""
    cell = dict(cell)
    outputs = cell.pop("outputs", [])
    if "optional" in cell["metadata"].get("tags", ()):
        return cell, []
    shown = [dict(output.get("data", {"text": output.get("text")})) for output in outputs]
    return cell, [
        {kind: "a picture" if kind in DRAWN else text for kind, text in data.items()}
        for data in shown
    ]


def differences(committed, fresh):
    """What is not as it would be written now, a line for each."""
    if len(committed.cells) != len(fresh.cells):
        yield f"{len(committed.cells)} cells, its source has {len(fresh.cells)}"
        return
    if committed.metadata != fresh.metadata:
        yield f"metadata {dict(committed.metadata)}, expected {dict(fresh.metadata)}"
    for i, cells in enumerate(zip(committed.cells, fresh.cells, strict=True)):
        (old, old_shown), (new, new_shown) = map(comparable, cells)
        first_line = (new["source"].splitlines() or [""])[0]
        if old != new:
            yield f"cell {i} is not that of the source: {first_line}"
        elif old_shown != new_shown:
            yield f"cell {i} has other outputs: {first_line}\n  {old_shown}\n  {new_shown}"


def text_of(notebook):
    """The content of the file, the same on all systems."""
    return nbformat.writes(notebook) + "\n"


def main():
    """Writes the notebooks, or checks those that are there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    found = []
    for name in NAMES:
        path = HERE / f"{name}.ipynb"
        try:
            fresh = executed((HERE / f"{name}.py").read_text(encoding="utf-8"))
        except (CellExecutionError, ValueError) as error:
            found.append(f"{path.name}: {error}")
            continue
        if check:
            if path.exists():
                committed = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
                found += [f"{path.name}: {line}" for line in differences(committed, fresh)]
            else:
                found.append(f"{path.name}: there is none")
        else:
            path.write_text(text_of(fresh), encoding="utf-8", newline="\n")
        print(f"{path.name}: {len(fresh.cells)} cells, {len(text_of(fresh)) / 1000:.0f} kB")
    if found:
        sys.exit("\n".join([*found, "python demos/notebooks.py writes the notebooks anew"]))


if __name__ == "__main__":
    main()
