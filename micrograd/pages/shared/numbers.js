// Numbers as text. Pure functions.

// Four significant digits, as in the drawings: a number is never cut off, and the exponent is always
// visible.
function number(x) {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "−inf";
  const [digits, power] = x.toExponential(3).split("e");
  const text = power < -4 || power > 3 ? `${+digits}e${+power}` : String(+x.toPrecision(4));
  return (+text === 0 ? "0" : text).replace(/-/g, "−");
}

// The same in a formula: a negative number has brackets.
const inFormula = x => x < 0 ? `(${number(x)})` : number(x);
