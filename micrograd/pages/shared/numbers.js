// Numbers as text. Pure functions.

// Numbers that are exact fractions in Python: their text, such as 1/3, by 12 digits of the decimal.
let fractions = new Map();
const useFractions = pairs => (fractions = new Map(pairs.map(([x, text]) => [x.toPrecision(12), text])));

// Four significant digits, as in the drawings: a number is never cut off, and the exponent is always
// visible.
function number(x) {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "−inf";
  const exact = fractions.size && fractions.get(x.toPrecision(12));
  if (exact) return exact;
  const [digits, power] = x.toExponential(3).split("e");
  const text = power < -4 || power > 3 ? `${+digits}e${+power}` : String(+x.toPrecision(4));
  return (+text === 0 ? "0" : text).replace(/-/g, "−");
}

// The same in a formula: a negative number or a fraction has brackets.
const inFormula = x => (x < 0 || number(x).includes("/") ? `(${number(x)})` : number(x));
