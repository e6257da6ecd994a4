// The words that the page of training explains.

export const MEANING = {
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
