// Python in a worker, which can be ended at any time: a new one then starts.

import {TEXTS} from "./lesson.js";

export class Python {
  constructor(files, source, heard) {
    this.files = files;
    /** @type {any} the answer that somebody waits for */
    this.waiting = null;
    /** @type {any} */
    this.worker = null;
    this.address = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
    this.heard = heard; // takes the kind and the content of what Python says
    this.start();
  }

  start() {
    this.ready = false;
    this.waiting = null;
    this.worker = new Worker(this.address);
    this.worker.onmessage = ({data}) => this.hear(data.kind, data.content);
    this.worker.onerror = error => this.hear("ended", error.message || "worker");
    this.worker.postMessage({files: this.files, texts: JSON.stringify(TEXTS)});
  }

  hear(kind, content) {
    if (kind === "ready") this.ready = true;
    if (kind === "done") {
      const {resolve} = this.waiting;
      this.waiting = null;
      resolve(content);
    } else {
      this.heard(kind, content);
    }
  }

  // The answer to a request; null if Python is stopped before.
  ask(request) {
    let resolve = _content => {};
    const promise = new Promise(resolved => {
      resolve = resolved;
    });
    this.waiting = {promise, resolve};
    this.worker.postMessage(request);
    return promise;
  }

  restart() {
    const waiting = this.waiting;
    this.worker.terminate();
    this.start();
    waiting?.resolve(null);
  }
}
