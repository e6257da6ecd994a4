// The texts of the course, from its table, and how they become elements.

export const TEXTS = JSON.parse(document.getElementById("texts")?.textContent ?? "");

export const textOf = (key, values = {}) => TEXTS[key].replace(/\{(\w+)\}/g, (gap, name) => values[name] ?? gap);

export function element(tag, attributes = {}, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

// `code` and **important words** of a line.
export function words(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map(part => {
    if (part.length > 2 && part.startsWith("`")) return element("code", {}, part.slice(1, -1));
    if (part.startsWith("**")) return element("b", {}, part.slice(2, -2));
    return part;
  });
}

// Paragraphs are separated by empty lines; lines that are indented are a program.
export function paragraphs(text) {
  const isProgram = part => part.startsWith("    ");
  const parts = [];
  for (const part of text.split("\n\n")) {
    if (parts.length && isProgram(part) && isProgram(parts.at(-1))) parts.push(`${parts.pop()}\n\n${part}`);
    else parts.push(part);
  }
  return parts.map(part =>
    isProgram(part)
      ? element("pre", {class: "code", tabindex: "0"}, part.replace(/^ {4}/gm, ""))
      : element("p", {}, ...words(part)),
  );
}
