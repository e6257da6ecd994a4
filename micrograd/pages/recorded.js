// The page of a recorded run.

import {recorded} from "./learning/recorded.js";
import {MEANING} from "./learning/words.js";
import {$} from "./shared/elements.js";
import {explainWords} from "./shared/glossary.js";

explainWords(name => MEANING[name]);
export const page = recorded(JSON.parse($("run").textContent).run);
