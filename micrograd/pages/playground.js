// The page on which a network learns.

import {live} from "./learning/live.js";
import {MEANING} from "./learning/words.js";
import {$} from "./shared/elements.js";
import {explainWords} from "./shared/glossary.js";

explainWords(name => MEANING[name]);
export const page = live(JSON.parse($("run").textContent));
