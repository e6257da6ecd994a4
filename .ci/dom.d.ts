// Elements are found by their ids and selectors, so their kinds are not known to the type checker.
interface EventTarget {
  [key: string]: any;
}
