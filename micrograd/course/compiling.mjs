// Run by build.py in Node, in a folder with the files of the worker: compiles what Python imports
// when the course starts. Otherwise every start would spend half of its time on that.
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const folder = process.cwd(),
  unpacked = "/unpacked";
const imported = name => import(pathToFileURL(`${folder}/${name}`));
const {loadPyodide} = await imported("pyodide.mjs");
const python = await loadPyodide();
const viz = await (await imported("viz.js")).instance();
python.mountNodeFS("/files", folder);
python.unpackArchive(new Uint8Array(readFileSync("course.zip")), "zip", {extractDir: unpacked});
python.pyimport("sys").path.append(unpacked);
try {
  python
    .pyimport("micrograd.course.compiling")
    .compile_archives("/files/python_stdlib.zip", "/files/course.zip", unpacked, (dot, format, engine) =>
      viz.renderString(dot, {format, engine}),
    );
} catch (error) {
  console.error(error.message); // Node would print Python's scripts with it
  process.exit(1);
}
