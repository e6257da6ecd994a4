// Random numbers that a seed determines.

// Source: mulberry32 by Tommy Ettinger, public domain.
export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  // Uniform in [0, 1).
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let z = this.state;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  }

  uniform(low, high) {
    return low + (high - low) * this.next();
  }

  // Normal with mean 0 and deviation 1. Source: Box and Muller, 1958.
  normal() {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }

  shuffled(list) {
    const result = list.slice();
    for (let i = result.length - 1; i > 0; i--) {
      const k = Math.floor(this.next() * (i + 1));
      [result[i], result[k]] = [result[k], result[i]];
    }
    return result;
  }
}
