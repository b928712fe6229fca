// A run as it goes on: what it does right now, every few seconds, and its board whenever that may have changed.

import { merge } from './merge.js';
import { announce } from './notice.js';
import { get, Poll } from './polls.js';
import { localise } from './times.js';
import { say } from './words.js';

const EVERY = 3000; // milliseconds
const BOARD = 15000; // milliseconds between two looks at the board while only small things happen
const MOST = 500; // entries that stay on the page

/** Follow the run of the page until it has ended; the poll that does. `renewed` is called after every change. */
export function follow(main, renewed) {
  const board = main.dataset.board && document.getElementById('board');
  let cursor = Number(main.dataset.cursor);
  let seen = main.dataset.seen; // mark of the state that the page shows
  let shown = main.dataset.mark; // mark of the board that the page shows
  let looked = performance.now(); // when the board was asked for
  let stale = false; // whether something has changed since

  async function ask(signal, wanted) {
    const answer = await get(`${main.dataset.live}?since=${cursor}`, signal);
    const told = await answer.json();
    stale ||= told.mark !== seen;
    const due = wanted || told.ended || told.board !== shown || (stale && performance.now() - looked > BOARD);
    return { told, html: board && due ? await askBoard(signal, told.ended) : null };
  }

  async function askBoard(signal, last) {
    looked = performance.now();
    try {
      const answer = await get(main.dataset.board + location.search, signal);
      return await answer.text();
    } catch (error) {
      if (last || signal.aborted) throw error;
      return null; // what the run does now is told all the same
    }
  }

  function take({ told, html }) {
    if (told.mark !== seen || told.cursor !== cursor) progress(told.html);
    cursor = told.cursor;
    seen = told.mark;
    if (html !== null) {
      renew(board, html);
      shown = told.board;
      stale = false;
    }
    renewed();
    if (told.ended) poll.end();
    else if (told.more) poll.soon();
  }

  const poll = new Poll(EVERY, ask, take);
  return poll;
}

function parsed(html) {
  const made = document.createElement('template');
  made.innerHTML = html;
  localise(made.content);
  return made.content;
}

/** Show what the run does now; its new entries come first. */
function progress(html) {
  const fresh = parsed(html);
  entries(document.querySelector('[data-events]'), fresh.querySelector('[data-events]'));
  for (const one of [...fresh.children]) {
    const old = one.id && document.getElementById(one.id);
    if (old) merge(old, one);
  }
}

function entries(list, fresh) {
  if (!list || !fresh) return;
  const newest = Number(list.querySelector('[data-seq]')?.dataset.seq ?? 0);
  const added = [...fresh.querySelectorAll('[data-seq]')].filter((one) => Number(one.dataset.seq) > newest);
  if (!added.length) return;
  putAbove(list, added);
  for (const one of [...list.querySelectorAll(':scope > [data-seq]')].slice(MOST)) one.remove();
  const text = (added[0].querySelector('[data-text]') ?? added[0]).textContent.trim();
  announce(say(added.length === 1 ? 'entry' : 'entries', { n: added.length, text }));
}

/** Browsers hold what is read in its place when something is put above it; here for the one that does not. */
function putAbove(list, added) {
  const box = list.closest('.scroll') ?? document.scrollingElement;
  const [top, height] = [box.scrollTop, box.scrollHeight];
  list.prepend(...added);
  if (top && !CSS.supports('overflow-anchor', 'auto')) box.scrollTop = top + box.scrollHeight - height;
}

/** Make a region's content that of `html`. */
function renew(region, html) {
  const fresh = region.cloneNode(false);
  fresh.append(parsed(html));
  merge(region, fresh);
}
