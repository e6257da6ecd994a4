// Texts with gaps. A key in double braces, in any script, is a text of micrograd/texts/en.toml: it is put in when the
// page is made.

// The parts of a text: what is written between the gaps, and the values in them, of any kind.
export const partsOf = (text, values) =>
  text.split(/\{(\w+)\}/).map((part, k) => (k % 2 ? (values[part] ?? `{${part}}`) : part));
export const filled = (text, values) => partsOf(text, values).join("");
