// Words that the script says by itself; they come with the page, in the reader's language.

const words = document.getElementById('words')?.dataset ?? {};

/** The words of that name, with what stands in braces replaced. */
export function say(name, values = {}) {
  return (words[name] ?? '').replace(/\{(\w+)\}/g, (whole, value) => values[value] ?? whole);
}
