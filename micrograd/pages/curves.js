// Curves over the steps of training: one or two lines, the second dashed, and a dot at the present.

// steps: where the numbers are; lines: [{numbers, colour, dashed}], null where a number is not known;
// now: the index of the present; top: the upper end of the axis, 0 for the largest number.
function drawCurves(canvas, {steps, lines, now, top, height}) {
  const [context, width] = prepared(canvas, height);
  const box = {left: 40, right: width - 8, top: 8, bottom: height - 20};
  // A first loss out of all proportion would press the rest of the curve flat.
  const known = lines.flatMap(({numbers}) => numbers.filter(y => y !== null && Number.isFinite(y)));
  const sorted = known.slice().sort((a, b) => a - b);
  const most = sorted.length ? sorted[sorted.length - 1] : 1;
  const usual = sorted.length ? 4 * sorted[Math.floor(0.9 * (sorted.length - 1))] : 1;
  const high = top || Math.max(Math.min(most, usual) * 1.05, 1e-9), low = Math.min(0, sorted[0] || 0);
  const first = steps[0] || 0, end = Math.max(first + 1, steps[steps.length - 1] || 0);
  const x = i => box.left + (steps[i] - first) / (end - first) * (box.right - box.left);
  const y = value => box.bottom - (Math.min(value, high) - low) / (high - low) * (box.bottom - box.top);

  context.strokeStyle = theme.hairline; context.lineWidth = 1;
  context.fillStyle = theme.faint; context.textAlign = "right"; context.textBaseline = "middle";
  for (const [value, text] of ticks(low, high, 3)) {
    context.beginPath();
    context.moveTo(box.left, y(value)); context.lineTo(box.right, y(value)); context.stroke();
    context.fillText(top ? Math.round(100 * value) + "%" : text, box.left - 5, y(value));
  }
  context.textBaseline = "top";
  for (const [step, text] of ticks(first, end, 3)) {
    if (!Number.isInteger(step)) continue;
    const share = (step - first) / (end - first), place = box.left + share * (box.right - box.left);
    context.textAlign = share > 0.9 ? "right" : "center";
    context.fillText(text, share > 0.9 ? Math.min(width, place + 6) : place, box.bottom + 4);
  }
  const trace = (numbers, until, colour, thick) => {
    context.strokeStyle = colour; context.lineWidth = thick; context.lineJoin = "round";
    context.beginPath();
    let pen = "moveTo";
    for (let i = 0; i <= until; i++) {
      if (numbers[i] === null) { pen = "moveTo"; continue; }
      context[pen](x(i), y(numbers[i]));
      pen = "lineTo";
    }
    context.stroke();
  };
  for (const {numbers, colour, dashed} of lines) {
    context.setLineDash(dashed ? [4, 3] : []);
    if (now < steps.length - 1) trace(numbers, steps.length - 1, theme.hairline, 1.5);
    trace(numbers, now, colour, 2);
    context.setLineDash([]);
    if (numbers[now] === null || numbers[now] === undefined) continue;
    context.beginPath();
    context.arc(x(now), y(numbers[now]), 4, 0, 2 * Math.PI);
    context.fillStyle = dashed ? theme.panel : colour;
    context.fill();
    context.stroke();
  }
}

const percent = share => share === null ? "·" : (100 * share).toFixed(share === 1 ? 0 : 1) + "%";
const decimals = x => x === null ? "·"
  : Number.isFinite(x) && Math.abs(x) >= 1e-3 && Math.abs(x) < 1e4 ? x.toFixed(3) : number(x);
