// Formulas as mathematics: x₁w₁ + b, not x1 * w1 + b. Pure functions, apart from made() at the end.
//
// A formula is a list of pieces: texts, and {sub}, {sup}, {name}, {root} with lists or texts inside.

const SUM = 1,
  PRODUCT = 2,
  SIGN = 3,
  POWER = 4,
  WHOLE = 5; // from loose to tight

// A name in mathematics: x1 and w[0] have subscripts.
function nameInMath(text) {
  const found = /^(\p{L}{1,2})(?:_?(\d{1,3})|\[(\d+)\])$/u.exec(text);
  return found ? [{name: found[1]}, {sub: found[2] ?? found[3]}] : [{name: text}];
}

// The formula of node i in the graph. `stop(j)` tells which operands appear as their names;
// `called(j)` is the name of node j, as pieces; `most` limits the number of leaves.
function formulaOf(graph, i, {stop, called, most = 24}) {
  let left = most;
  const operand = (j, rank, deep) => {
    if (graph.isLeaf(j) || stop(j) || deep > 8) {
      left -= 1;
      return called(j, rank);
    }
    if (left <= 0) return ["…"];
    const [pieces, own] = operation(j, deep + 1);
    return own < rank ? ["(", ...pieces, ")"] : pieces;
  };
  const operation = (j, deep) => {
    const {op} = graph.rules[graph.nodes[j][0]],
      operands = graph.operands(j);
    const at = (k, rank) => operand(operands[k], rank, deep);
    if (op === "+") return [terms(j, deep), SUM];
    if (op === "-") return [[...at(0, SUM), " − ", ...at(1, PRODUCT)], SUM];
    if (op === "*") return [product(at(0, PRODUCT), at(1, PRODUCT)), PRODUCT];
    if (op === "/") return [[...at(0, PRODUCT), " / ", ...at(1, SIGN)], PRODUCT];
    if (op === "neg") return [["−", ...at(0, SIGN)], SIGN];
    if (op === "abs") return [["|", ...at(0, 0), "|"], WHOLE];
    if (op === "sqrt") return [["√", ...at(0, WHOLE)], POWER];
    if (op === "exp") return [[{name: "e"}, {sup: at(0, 0)}], POWER];
    if (op === "**") return [[...at(0, WHOLE), {sup: at(1, 0)}], POWER];
    if (op.startsWith("**")) return [[...at(0, WHOLE), {sup: op.slice(2).replace("-", "−")}], POWER];
    if (op.endsWith("**")) return [[op.slice(0, -2), {sup: at(0, 0)}], POWER];
    const inside = operands.flatMap((_, k) => [...(k ? [", "] : []), ...at(k, 0)]);
    return [[op === "ReLU" ? "relu" : op, "(", ...inside, ")"], WHOLE];
  };
  // a + b + c + ..., however long it is
  const terms = (j, deep) => {
    const found = [];
    for (;;) {
      const [first, second] = graph.operands(j);
      found.unshift(second);
      j = first;
      if (graph.isLeaf(j) || stop(j) || graph.rules[graph.nodes[j][0]].op !== "+") break;
    }
    const pieces = operand(j, 0, deep);
    for (const [k, term] of found.entries()) {
      if (left <= 0 && found.length - k > 1) return [...pieces, ` + … (${found.length - k} more terms)`];
      pieces.push(" + ", ...operand(term, SUM, deep));
    }
    return pieces;
  };
  return operation(i, 0)[0];
}

// Single letters stand side by side: x₁w₁. Everything else has a ×.
function product(a, b) {
  const single = pieces =>
    pieces.every(
      piece => typeof piece === "object" && (piece.name ? [...piece.name].length === 1 : piece.sub),
    );
  return single(a) && single(b) && plain(a) !== plain(b) ? [...a, ...b] : [...a, " × ", ...b];
}

// The pieces as plain text, in which a product of single letters gets its × back.
function plain(pieces) {
  if (typeof pieces === "string") return pieces;
  let text = "";
  pieces.forEach((piece, k) => {
    if (piece.name && k && typeof pieces[k - 1] === "object") text += " × ";
    if (typeof piece === "string") text += piece;
    else text += piece.name ?? (piece.sup ? `^${plain(piece.sup)}` : plain(piece.sub));
  });
  return text;
}

// The pieces as elements, to be put into `parent`.
function written(parent, pieces) {
  for (const piece of typeof pieces === "string" ? [pieces] : pieces) {
    if (typeof piece === "string") {
      parent.append(piece);
      continue;
    }
    const [[kind, inside]] = Object.entries(piece);
    const element = document.createElement({name: "var", sub: "sub", sup: "sup"}[kind]);
    parent.append(kind === "name" ? ((element.textContent = inside), element) : written(element, inside));
  }
  return parent;
}
