// Drawings and pages of the package, apart from this page: a picture, and a frame.

import {element, textOf, words} from "./lesson.js";

export function drawing(svg, about) {
  const address = URL.createObjectURL(new Blob([svg], {type: "image/svg+xml"}));
  const [, least] = svg.match(/min-width:(\d+)px/) || [0, 0]; // narrower, its letters were too small
  const image = element("img", {src: address, alt: about, style: `min-width: ${least}px`});
  return element("div", {class: "drawing", tabindex: "0", role: "group", "aria-label": about}, image);
}

function frame({page, title, height}) {
  return element("iframe", {
    srcdoc: page,
    title,
    sandbox: "allow-scripts allow-downloads",
    style: `height: ${height}px`,
  });
}

// A page that is made when it is opened: each one computes and draws.
export function folded(shown, caption) {
  const details = element("details", {class: "page"}, element("summary", {}, ...words(caption)));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(frame(shown));
  });
  return details;
}

export function shownElement(shown) {
  return shown.svg ? drawing(shown.svg, textOf("picture")) : frame(shown);
}
