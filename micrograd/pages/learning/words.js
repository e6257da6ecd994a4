// The words that the page of training explains, and what they mean.

export const MEANING = JSON.parse("{{means.*}}");
