// The editor: CodeMirror with Python's habits.

export function makeEditor(place, label, onChange, onRun, onLeave) {
  const mirror = CodeMirror(place, {
    mode: "python",
    indentUnit: 4,
    lineNumbers: true,
    viewportMargin: Infinity,
    lineWrapping: false,
    screenReaderLabel: label,
    extraKeys: {
      "Ctrl-Enter": onRun,
      "Cmd-Enter": onRun,
      "Ctrl-/": "toggleComment",
      "Cmd-/": "toggleComment",
      Tab: it => (it.somethingSelected() ? it.indentSelection("add") : it.replaceSelection("    ")),
      "Shift-Tab": "indentLess",
      Esc: onLeave,
    },
  });
  mirror.getScrollerElement().tabIndex = 0; // it can be scrolled by keys
  let marked = null;
  const unmark = () => {
    if (marked !== null) mirror.removeLineClass(marked, "background", "marked");
    marked = null;
  };
  mirror.on("change", () => {
    unmark();
    onChange();
  });
  return {
    get text() {
      return mirror.getValue();
    },
    // A text of its own, with a history of its own.
    open(text) {
      mirror.swapDoc(CodeMirror.Doc(text, "python"));
      marked = null;
    },
    replace(text) {
      mirror.setValue(text);
    }, // can be undone
    append(text) {
      mirror.replaceRange(text, {line: mirror.lastLine() + 1, ch: 0});
    },
    mark(line) {
      unmark();
      if (!line) return;
      marked = mirror.addLineClass(line - 1, "background", "marked");
      mirror.scrollIntoView({line: line - 1, ch: 0}, 80);
    },
    showLast(lines) {
      // at the top, as far as possible
      mirror.scrollTo(0, mirror.heightAtLine(mirror.lastLine() - lines, "local"));
    },
    focus() {
      mirror.focus();
    },
    get mirror() {
      return mirror;
    },
  };
}
