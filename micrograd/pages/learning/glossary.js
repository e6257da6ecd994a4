// Words of the field, explained where they stand: on hover, on focus, and to screen readers.

const WORDS = {
  parameter: "{{means.parameter}}",
  weight: "{{means.weight}}",
  bias: "{{means.bias}}",
  gradient: "{{means.gradient}}",
  loss: "{{means.loss}}",
  function: "{{means.function}}",
  accuracy: "{{means.accuracy}}",
  rate: "{{means.rate}}",
  optimizer: "{{means.optimizer}}",
  penalty: "{{means.penalty}}",
  batch: "{{means.batch}}",
  activation: "{{means.activation}}",
  neuron: "{{means.neuron}}",
  layers: "{{means.layers}}",
  score: "{{means.score}}",
  tests: "{{means.tests}}",
  seed: "{{means.seed}}",
  noise: "{{means.noise}}",
  xor: "{{means.xor}}",
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
