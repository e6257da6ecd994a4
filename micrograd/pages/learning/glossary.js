// Words of the field, explained where they stand: on hover, on focus, and to screen readers.

const WORDS = {
  parameter: "A number that training changes: a weight or a bias.",
  weight: "A number that a neuron multiplies one of its inputs by: a line of the network. Training changes "
    + "it.",
  bias: "A number that a neuron adds to its sum, one in each neuron. Training changes it.",
  gradient: "How many times as far the loss moves as this number does, for small moves. Minus: the opposite "
    + "way. 0: not at all.",
  loss: "One number that says how wrong the network is, the mean over the training points. 0 is perfect. All "
    + "gradients here are gradients of the loss.",
  "loss function": "How wrong a score is. Cross-entropy: near 0 if sure and right, large if sure and wrong. "
    + "Hinge: 0 if right by a margin of 1. Squared error: (score − label)².",
  accuracy: "The share of points whose class the network guesses right.",
  "learning rate": "How far a step goes: each weight moves by learning rate × gradient. Too large, and the "
    + "loss jumps about; too small, and hardly anything happens.",
  optimizer: "The rule that turns gradients into moves. SGD: learning rate × gradient. Momentum keeps "
    + "rolling. Adam gives every weight a pace of its own. AdamW is Adam with its own way of pulling weights "
    + "to 0.",
  penalty: "Pulls every weight towards 0, so that the boundary stays simple (weight decay).",
  batch: "How many points a step looks at. One or a few: quick, but each step only guesses the way down.",
  activation: "The bend that a neuron gives its sum. Without it, many layers could do no more than one.",
  neuron: "Adds up weight × input and a bias, then bends the sum with its activation.",
  "hidden layers": "The columns of neurons between the inputs and the score. More of them can draw a more "
    + "winding boundary.",
  score: "The network's output: its sign says the class, its size how sure it is.",
  "test points": "Points that training never sees, drawn hollow. If their loss rises while the other falls, "
    + "the network learns by heart: stop.",
  seed: "The number that random numbers start from: the same seed gives the same weights again.",
  noise: "How far points are scattered from their shape.",
  xor: "The class says whether the signs of x₁ and x₂ differ. No straight line can separate the two.",
};

// Gives every element with data-word its explanation.
function explainWords(root = document) {
  for (const word of root.querySelectorAll("[data-word]")) {
    const why = WORDS[word.dataset.word];
    if (!why || word.dataset.why) continue;
    word.dataset.why = why;
    word.setAttribute("aria-description", why);
    if (!word.closest("label, button")) word.tabIndex = 0;
    // A word near the right edge has its explanation further to the left.
    for (const event of ["pointerenter", "focus"]) {
      word.addEventListener(event, () => {
        const room = document.documentElement.clientWidth - word.getBoundingClientRect().left - 276;
        word.style.setProperty("--shift", `${Math.min(0, room)}px`);
      });
    }
  }
}
