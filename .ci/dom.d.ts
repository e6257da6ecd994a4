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
