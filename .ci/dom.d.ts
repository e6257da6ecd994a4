// Elements are found by their ids and selectors, so their kinds are not known to the type checker.
interface EventTarget {
  [key: string]: any;
}
// A point to learn from; in a curve, y is the number to predict.
interface Example {
  x: number;
  y: number;
  label: number;
  test?: boolean;
}
// What stepping/words.js tells of a step.
interface Told {
  phase: string;
  step: any;
  state: any;
  sentence: string;
  equation: any;
  chains: any[];
}
