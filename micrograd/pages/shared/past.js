// What Undo goes back to, the same on all pages.

const MOST = 100;

// take(what) is the present state, which nothing changes later; put(state) brings it back.
export class Past {
  constructor(take, put) {
    this.take = take;
    this.put = put;
    this.states = [];
  }
  remember(what = "") {
    this.states = [...this.states, this.take(what)].slice(-MOST);
  }
  undo() {
    const before = this.states.at(-1);
    this.states = this.states.slice(0, -1);
    if (before) this.put(before);
  }
}
