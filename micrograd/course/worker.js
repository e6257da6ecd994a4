// Runs Python apart from the page, so that the page can end it at any time. All files come from the
// page; nothing else can be fetched.

const MOST_MEMORY = 1 << 30; // bytes: beyond this, Python raises a MemoryError
const PAGE = 1 << 16; // WebAssembly's unit of memory

let files; // by name: compressed bytes
const unzipped = name => new Response(new Response(files[name]).body?.pipeThrough(new DecompressionStream("gzip")));
const bytes = async name => new Uint8Array(await unzipped(name).arrayBuffer());
const text = name => unzipped(name).text();

// Python asks for its files by address. The answer is a file of the page, or an error.
self.fetch = async address => {
  const name = String(address).split("/").at(-1) ?? "";
  if (!(name in files)) throw new TypeError(`${name} is not in this file, and there is no network here`);
  const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
  return new Response(unzipped(name).body, {headers: {"Content-Type": type}});
};

// A page opened from disk may only start a classic worker, which Python refuses because its scripts
// could not be modules there. They can: `import` works, and this is how Python tells.
self.importScripts = () => {
  throw new Error("import() instead");
};

const grow = WebAssembly.Memory.prototype.grow;
WebAssembly.Memory.prototype.grow = function (pages) {
  if (this.buffer.byteLength + pages * PAGE > MOST_MEMORY) throw new RangeError("out of memory");
  return grow.call(this, pages);
};

// Of a page opened from disk, Safari imports a data address, and not a blob.
const imported = async name => import(`data:text/javascript,${encodeURIComponent(await text(name))}`);

const post = (kind, content) => self.postMessage({kind, content});

async function started(texts) {
  const {loadPyodide} = await imported("pyodide.mjs");
  const {default: createPyodideModule} = await imported("pyodide.asm.mjs");
  post("progress", 0.3);
  const [python, viz] = await Promise.all([
    loadPyodide({
      indexURL: "https://this.file/",
      packageBaseUrl: "https://this.file/",
      createPyodideModule,
      lockFileContents: JSON.parse(await text("pyodide-lock.json")),
    }),
    imported("viz.js").then(module => module.instance()),
  ]);
  post("progress", 0.7);
  python.unpackArchive(await bytes("course.zip"), "zip");
  post("progress", 0.8);
  const draw = (dot, format, engine) => viz.renderString(dot, {format, engine});
  const runner = python.pyimport("micrograd.course.runner");
  runner.start(draw, (kind, content) => post(kind, JSON.parse(content)), texts);
  return runner;
}

let runner;
self.onmessage = async ({data}) => {
  try {
    if (data.files) {
      files = data.files;
      runner = await started(data.texts);
      post("ready", null);
    } else {
      post("done", JSON.parse(runner.answer(JSON.stringify(data))));
    }
  } catch (/** @type {any} */ error) {
    // Python itself has ended: its stack or its memory ran over
    post("ended", String(error.message || error));
  }
};
