// The first lines of the page: where training is, and what the last step did.

function say(experiment) {
  const {curves, training, examples} = experiment, share = curves.accuracy.at(-1);
  write(element("figures"), share === null ? []
    : [[`step ${training.steps} · loss ${decimals(curves.loss.at(-1))} · accuracy ${percent(share)}`]]);
  write(element("said"), sentence(experiment));
  element("boundary").setAttribute("aria-label", `The plane with ${examples.length} points and the class `
    + `that the network gives to each place; accuracy ${percent(share)}`);
}

// Replaces what a place says, if it is something new: a list of [text, kind].
function write(place, parts) {
  const text = parts.map(([part]) => part).join("");
  if (place.dataset.text === text) return;
  place.dataset.text = text;
  place.replaceChildren(...parts.map(([part, kind]) => kind ? strong(part, kind) : part));
}

function sentence(experiment) {
  const {trouble, moved, training, isFixed, model} = experiment;
  if (trouble) return [[trouble, "wrong"]];
  if (moved) return whatMoved(experiment);
  const rule = (each) =>
    `A training step moves ${each} a little against its gradient, so that the loss usually falls.`;
  if (training.steps) return [[rule("every parameter")]];
  const count = training.p.length, neurons = isFixed ? 0 : model.layers.flat().length;
  const kinds = isFixed ? "" : `: ${count - neurons} weights (the lines) and ${neurons} biases`;
  return [[`${count} parameters${kinds}. ${rule("each one")}`]];
}

function whatMoved(experiment) {
  const {moved: {weight, before, after, gradient, losses, isPlain}, settings, isFixed} = experiment;
  const [from, to] = losses.map(decimals), way = losses[1] < losses[0] ? "fell" : "rose";
  const start = `${experiment.weightName(weight)}: ${number(before)}`, end = `${number(after)}.`;
  const sum = isPlain
    ? [[`${start} − ${number(settings.rate)} × `], [inFormula(gradient), "gradient"], [` = ${end}`]]
    : [[`${start} → ${end}`]];
  return [[from === to ? `The loss is still ${to}. ` : `The loss ${way} from ${from} to ${to}. `],
          [isFixed ? "The parameter that moved most: " : "The weight that moved most (marked line): "],
          ...sum];
}
