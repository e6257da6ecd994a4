// Points by hand: a pointer on the plane adds, moves and chooses points.

//   geometry()        of the last drawPlane
//   examples()        the points
//   onAdd(x, y)       an empty place was pressed
//   onChoose(i)       a point was pressed
//   onGrab()          a point begins to move;  onMove(i, x, y): it moves;  onDrop(): it stays there
//   onDelete()        the key Delete was pressed
export function makeHand(canvas, {geometry, examples, onAdd, onChoose, onGrab, onMove, onDrop, onDelete}) {
  let held = null; // {left, top, point, isMoving} while a button or finger is down
  const rounded = x => Math.round(x * 1e4) / 1e4;
  const place = event => {
    const area = canvas.getBoundingClientRect();
    return [event.clientX - area.left, event.clientY - area.top];
  };
  const nearest = (left, top, reach) => {
    let best = -1,
      least = reach;
    examples().forEach(({x, y}, i) => {
      const distance = Math.hypot(geometry().across(x) - left, geometry().up(y) - top);
      if (distance < least) [best, least] = [i, distance];
    });
    return best;
  };

  canvas.addEventListener("pointerdown", event => {
    if (event.button || !geometry()) return;
    const [left, top] = place(event),
      reach = event.pointerType === "touch" ? 18 : geometry().size + 4;
    held = {left, top, point: nearest(left, top, reach), isMoving: false};
  });
  // A finger on a point drags it; elsewhere it scrolls the page.
  canvas.addEventListener(
    "touchmove",
    event => {
      if (held && held.point >= 0) event.preventDefault();
    },
    {passive: false},
  );
  canvas.addEventListener("pointermove", event => {
    if (!geometry()) return;
    const [left, top] = place(event);
    if (!held) {
      canvas.style.cursor = nearest(left, top, geometry().size + 4) >= 0 ? "grab" : "crosshair";
      return;
    }
    if (held.point < 0 || (!held.isMoving && Math.hypot(left - held.left, top - held.top) < 5)) return;
    if (!held.isMoving) {
      held.isMoving = true;
      canvas.setPointerCapture(event.pointerId);
      onGrab();
    }
    onMove(held.point, ...geometry().at(left, top).map(rounded));
  });
  canvas.addEventListener("pointercancel", () => {
    held = null;
  });
  canvas.addEventListener("pointerup", event => {
    if (!held) return;
    const {point, isMoving} = held,
      [left, top] = place(event);
    const hasMoved = Math.hypot(left - held.left, top - held.top) >= 8;
    held = null;
    if (isMoving) onDrop();
    else if (point >= 0) onChoose(point);
    else if (!hasMoved && geometry().isInside(left, top)) onAdd(...geometry().at(left, top).map(rounded));
  });
  canvas.addEventListener("keydown", event => {
    if (event.key === "Delete") onDelete();
  });
}
