// What the page says of itself: a line above its content that stays, and words for those who hear the page.

import { say } from './words.js';

const QUIET = 5000; // milliseconds between two announcements

const heard = own('p', { className: 'visually-hidden', role: 'status' });
document.body.append(heard);
let last = -QUIET;
let next = null;

/** Have a screen reader say something when it has finished its sentence; of several in a short while, the newest. */
export function announce(text) {
  clearTimeout(next);
  next = setTimeout(() => {
    last = performance.now();
    heard.textContent = text;
  }, Math.max(0, last + QUIET - performance.now()));
}

let shown = null;

/** Show words above the content, with a button or a link; in place of those shown before. */
export function show(words, control) {
  if (!shown) {
    shown = own('div', { className: 'notice' });
    shown.append(own('p', {}));
    document.querySelector('main').prepend(shown);
  }
  shown.firstChild.textContent = words;
  if (control !== shown.children[1]) shown.replaceChildren(shown.firstChild, ...(control ? [control] : []));
}

/** Take those words away. */
export function clear() {
  shown?.remove();
  shown = null;
}

/** A button of ours. */
export function button(name, press) {
  const made = own('button', { type: 'button', className: 'plain small', textContent: say(name) });
  made.addEventListener('click', press);
  return made;
}

/** An element of ours, which a merge leaves alone. */
export function own(tag, properties) {
  const made = Object.assign(document.createElement(tag), properties);
  made.setAttribute('data-own', '');
  return made;
}
