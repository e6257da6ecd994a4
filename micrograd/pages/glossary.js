// Words of the field, explained where they stand: on hover, on focus, and to screen readers.

const WORDS = {
  weight: "A number that a neuron multiplies one of its inputs by. Training changes it.",
  gradient: "How much the loss moves when this number moves a little: Δ loss ÷ Δ number.",
  loss: "One number that says how wrong the network is, over all points. 0 is perfect.",
  accuracy: "The share of points whose class the network guesses right.",
  step: "One update of all weights: forward, backward, then each weight moves against its gradient.",
  "learning rate": "How far a step goes: each weight moves by learning rate × gradient. Too large, and the "
    + "loss jumps about; too small, and nothing happens.",
  optimizer: "The rule that turns gradients into moves. SGD: rate × gradient. Momentum keeps rolling. Adam "
    + "gives every weight a pace of its own. AdamW is Adam with its own way of pulling weights to 0.",
  penalty: "Pulls every weight towards 0, so that the boundary stays simple (weight decay).",
  batch: "How many points a step looks at. One or a few: quick, but each step only guesses the way down.",
  activation: "The bend that a neuron gives its sum. Without it, many layers could do no more than one.",
  neuron: "Adds up weight × input and a bias, then bends the sum with its activation.",
  score: "The network's output: its sign says the class, its size how sure it is.",
  "test points": "Points that training never sees. They tell whether the network understood, or only learned "
    + "by heart. Drawn hollow.",
  seed: "The number that random numbers start from: the same seed gives the same weights again.",
};

// Gives every element with data-word its explanation.
function explainWords(root = document) {
  for (const word of root.querySelectorAll("[data-word]")) {
    const why = WORDS[word.dataset.word];
    if (!why || word.dataset.why) continue;
    word.dataset.why = why;
    word.setAttribute("aria-description", why);
    if (!word.closest("label")) word.tabIndex = 0;
  }
}
