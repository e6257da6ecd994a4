// The field of the learning rate, the same on all pages: it shows the rate that counts, and says which it refuses.

import {$} from "./elements.js";
import {numberFrom} from "./numbers.js";
import {filled} from "./texts.js";

const MOST_RATE = 1000;
export const rateFrom = text => numberFrom(text, 0, MOST_RATE);

export function showRate(rate) {
  if ($("rate").value === String(rate)) return; // what was refused is still told
  $("rate").value = rate;
  $("refusedRate").textContent = "";
}

// The rate at present is get(); a new one goes to set.
export function listenToRate(get, set) {
  $("rate").addEventListener("change", ({target}) => {
    const rate = rateFrom(target.value);
    const about = {rate: get(), most: MOST_RATE, got: target.value || "{{rate.none}}"};
    if (rate !== undefined) set(rate);
    showRate(get());
    $("refusedRate").textContent = rate === undefined ? filled("{{rate.refused}}", about) : "";
  });
}
