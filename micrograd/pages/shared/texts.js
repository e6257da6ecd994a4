// Texts with gaps. A key in double braces, in any script, is a text of micrograd/texts/en.toml: it is put in when the
// page is made.

// The form of a noun beside a number: of two, the first for 1; of three, as in Russian. So in micrograd/texts, too.
export function formOf(forms, number) {
  const n = +String(number).replace(/\D/g, "");
  if (forms.length < 3) return n === 1 ? forms[0] : forms.at(-1);
  const end = n % 100 > 10 && n % 100 < 15 ? 0 : n % 10;
  return forms[end === 1 ? 0 : end > 1 && end < 5 ? 1 : 2];
}

// The parts of a text: what is written between the gaps, and the values in them, of any kind. {n:input|inputs} is a form
// of a noun, {score:scores} another form of a word that is an element.
export const partsOf = (text, values) =>
  text.split(/\{(\w+)(?::([^{}]*))?\}/).flatMap((part, k, all) => {
    if (k % 3 !== 1) return k % 3 ? [] : [part];
    const value = values[part],
      forms = all[k + 1];
    if (forms === undefined) return [value ?? `{${part}}`];
    if (!value?.replaceChildren) return [formOf(forms.split("|"), value)];
    value.replaceChildren(forms);
    return [value];
  });
export const filled = (text, values) => partsOf(text, values).join("");
