// Starts the page: a recorded run, or live training.

const given = JSON.parse(element("run").textContent);
explainWords();
const page = given.run ? recorded(given.run) : live(given);
