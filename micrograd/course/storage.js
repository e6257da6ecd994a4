// What the learner has written, in the browser's storage: it is there when the page opens again.

import {element} from "./lesson.js";

export const KEY = "micrograd-course";
const EMPTY = {text: "", free: "", chapter: "slope"};

export function stored() {
  try {
    return {...EMPTY, done: [], ...JSON.parse(localStorage.getItem(KEY) ?? "{}")};
  } catch {
    return {...EMPTY, done: []};
  }
}

// Whether it could be stored: a browser may refuse, for example in a private window.
export function store(state) {
  try {
    localStorage.setItem(KEY, JSON.stringify(state));
    return true;
  } catch {
    return false;
  }
}

export function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], {type: "text/x-python"}));
  element("a", {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
