// The clock of training: calls onTick(count) before frames, until it is paused.
//   pace()    steps in a frame; 0: a step every half second
//   onTick    the next steps
//   onChange  it was started or paused
export function makeClock({pace, onTick, onChange}) {
  let timer = 0,
    last = 0;
  function frame(time) {
    if (!timer) return;
    const count = pace();
    if (count || time - last > 500) {
      last = time;
      onTick(count || 1);
    }
    if (timer) timer = requestAnimationFrame(frame);
  }
  return {
    isRunning: () => timer !== 0,
    start() {
      timer = requestAnimationFrame(frame);
      onChange();
    },
    pause() {
      if (!timer) return;
      cancelAnimationFrame(timer);
      timer = 0;
      onChange();
    },
  };
}
