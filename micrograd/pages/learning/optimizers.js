// The update of one parameter, as in micrograd.optim. Pure.
//
// Each function takes the parameter w, its gradient g, what the optimizer remembers of it, and the
// settings: rate, decay, momentum, betas, eps and t, the number of this step from 1. It returns all
// figures on the way, the last one called `next`; those named in `memory` are kept for the next step.
export const OPTIMIZERS = {
  SGD: {
    memory: [],
    update(w, g, _, {rate, decay}) {
      const d = decay ? g + decay * w : g;
      return {w, g, d, next: w - rate * d};
    },
  },
  Momentum: {
    memory: ["v"],
    update(w, g, {v}, {rate, decay, momentum}) {
      const d = decay ? g + decay * w : g,
        velocity = momentum * v + d;
      return {w, g, d, v: velocity, next: w - rate * velocity};
    },
  },
  Adam: {
    memory: ["m", "s"],
    update(w, g, memory, k) {
      const d = k.decay ? g + k.decay * w : g;
      return {...moved(w, d, memory, k), w, g, d};
    },
  },
  AdamW: {
    memory: ["m", "s"],
    update(w, g, memory, k) {
      const pulled = k.decay ? w - k.rate * k.decay * w : w;
      return {...moved(pulled, g, memory, k), w, g, d: g, pulled};
    },
  },
};

// Adam's step from w for the gradient d.
function moved(w, d, memory, {rate, betas: [beta1, beta2], eps, t}) {
  const m = beta1 * memory.m + (1 - beta1) * d;
  const s = beta2 * memory.s + (1 - beta2) * d * d;
  const mean = m / (1 - beta1 ** t),
    root = Math.sqrt(s / (1 - beta2 ** t)),
    divisor = root + eps;
  return {m, s, mean, root, next: w - (rate * mean) / (divisor + (divisor === 0))};
}
