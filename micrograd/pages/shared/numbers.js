// Numbers as text, and from text. Pure functions.

const withMinus = text => text.replace(/-/g, "−");

// Four significant digits, as in the drawings: a number is never cut off, and the exponent is always visible.
export function number(x) {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "−inf";
  const [digits, power] = x.toExponential(3).split("e");
  const text = power < -4 || power > 3 ? `${+digits}e${+power}` : String(+x.toPrecision(4));
  return +text === 0 ? "0" : withMinus(text);
}

// The same in a formula: a negative number has brackets.
export const inFormula = x => inBrackets(number(x));
export const inBrackets = text => (text.startsWith("−") ? `(${text})` : text);
// The same in a field, with a minus that can be typed.
export const typed = x => number(x).replaceAll("−", "-");
// Terms and their sum as texts, with as many digits as it takes for the sum to be right as it is printed; and the sign
// between them, which is ≈ if it never is.
export function added(terms, sum) {
  const all = [...terms, sum];
  const least = Math.max(...all.map(x => decimalsOf(number(x))));
  for (let digits = least; digits <= Math.min(8, least + 2); digits++) {
    const shown = all.map(x => +x.toFixed(digits));
    const rest = shown.reduce((total, x, k) => (k < terms.length ? total + x : total - x), 0);
    if (Math.abs(rest) < 0.5 * 10 ** -digits) return {texts: shown.map(x => withMinus(String(x))), is: "="};
  }
  return {texts: all.map(number), is: "≈"};
}
const decimalsOf = text => (/[en]/.test(text) ? Infinity : (text.split(".")[1]?.length ?? 0));
// A move, with its sign.
export const signed = x => (Number.isNaN(x) ? "·" : x > 0 ? `+${number(x)}` : number(x));
// So many digits of a number, without an exponent where it is usual.
export const short = x => withMinus(x >= 1e-3 && x < 1e4 ? String(+x.toPrecision(2)) : x ? x.toExponential(0) : "0");
export const rough = (x, digits) => withMinus(String(+x.toPrecision(digits)));
export const counted = n => n.toLocaleString("en");

export const percent = share => {
  if (share === null) return "·";
  return Number.isFinite(share) ? `${(100 * share).toFixed(share === 1 ? 0 : 1)}%` : number(share);
};
export const decimals = x => {
  if (x === null) return "·";
  return Number.isFinite(x) && Math.abs(x) >= 1e-3 && Math.abs(x) < 1e4 ? x.toFixed(3) : number(x);
};

// The number that a text says; undefined for an empty text, and for what is not from `low` to `high`.
export function numberFrom(text, low = -Number.MAX_VALUE, high = Number.MAX_VALUE) {
  const x = Number(text);
  return text?.trim() && x >= low && x <= high ? x : undefined;
}

// Numbers that were packed as bytes, in an array of this kind.
export const unpacked = (text, Kind) => new Kind(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);

// How much of a bar, or of a colour, shows x: 1 for `most`, and 0 for what is no number.
export const shareOf = (x, most) => Math.min(1, Math.abs(x) / most) || 0;
export const round = x => Math.round(x * 10) / 10; // a place in a drawing
