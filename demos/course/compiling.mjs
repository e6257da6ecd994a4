// Run by demos/course.py in Node, in a folder with the files of the worker: compiles what Python
// imports when the course starts. Otherwise every start would spend half of its time on that.
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const folder = process.cwd();
const imported = (name) => import(pathToFileURL(`${folder}/${name}`));
const {loadPyodide} = await imported("pyodide.mjs");
const python = await loadPyodide();
const viz = await (await imported("viz.js")).instance();
python.mountNodeFS("/files", folder);
python.globals.set("draw", (dot, format, engine) => viz.renderString(dot, {format, engine}));
try {
  python.runPython(readFileSync(new URL("compiling.py", import.meta.url), "utf-8"));
} catch (error) {
  console.error(error.message);  // Node would print Python's scripts with it
  process.exit(1);
}
