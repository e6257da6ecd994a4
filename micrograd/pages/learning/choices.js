// The small pictures to choose from: the shape of the data, and the class of new points.

const NAMES = {
  yours: "{{shape.yours}}", moons: "{{shape.moons}}", circles: "{{shape.circles}}",
  spirals: "{{shape.spirals}}", xor: "{{shape.xor}}",
};

//   onShape(name)  a shape was chosen
// Returns draw(), and brush(): the class of new points.
function makeChoices(experiment, onShape) {
  const {data, classes} = experiment;
  let brush = 0;

  function shapeButton(shape) {
    const choice = make("button"), small = make("canvas");
    small.width = 96; small.height = 72;
    const context = small.getContext("2d");
    const points = shape === "yours" ? data.examples.map(([x, y, label]) => ({x, y, label}))
      : samples({shape, size: 60, noise: 0.02, share: 0, seed: 1, classes});
    const {low, high} = aroundPoints(points, 4 / 3);
    for (const {x, y, label} of points.slice(0, 120)) {
      context.fillStyle = theme.fills[label];
      context.beginPath();
      context.arc((x - low[0]) / (high[0] - low[0]) * 96, (1 - (y - low[1]) / (high[1] - low[1])) * 72, 3,
                  0, 2 * Math.PI);
      context.fill();
    }
    choice.dataset.shape = shape;
    choice.setAttribute("aria-pressed", shape === experiment.settings.data && !experiment.byHand);
    choice.append(small, WORDS[shape] ? word(NAMES[shape], shape) : NAMES[shape]);
    choice.addEventListener("click", () => onShape(shape));
    return choice;
  }

  function brushButton(name, label) {
    const choice = make("button"), small = make("canvas");
    small.width = small.height = 36;
    const context = small.getContext("2d");
    context.scale(2, 2);
    drawMarker(context, label, 9, 9, 6);
    choice.append(small, make("bdi", "", name));
    choice.setAttribute("aria-pressed", label === brush);
    choice.setAttribute("aria-label", filled("{{plane.brush}}", {name}));
    choice.addEventListener("click", () => { brush = label; draw(); });
    return choice;
  }

  function draw() {
    const shapes = Object.keys(SHAPES).filter(shape => classes === 2 || !ONLY_TWO.includes(shape));
    element("shapes").replaceChildren(...[...(data.examples ? ["yours"] : []), ...shapes].map(shapeButton));
    element("brush").replaceChildren(...data.names.map(brushButton));
    explainWords(element("shapes"));
  }

  return {draw, brush: () => brush};
}
