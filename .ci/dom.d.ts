// Elements are found by their ids and selectors, so their kinds are not known to the type checker.
interface EventTarget {
  [key: string]: any;
}
// The editor of the course is a package that build.py puts beside its scripts.
declare const CodeMirror: any;
// Newer than the library of the type checker.
interface Uint8ArrayConstructor {
  fromBase64(text: string): Uint8Array;
}
// A point to learn from: its inputs and in regression the number to predict; else its class.
interface Example {
  numbers: number[];
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
