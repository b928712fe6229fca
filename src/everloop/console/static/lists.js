// Lists that are kept up to date: the page is asked for again, and its marked regions are made equal to what it says.

import { merge } from './merge.js';
import { announce } from './notice.js';
import { get, Poll } from './polls.js';
import { localise } from './times.js';
import { say } from './words.js';

const EVERY = 10000; // milliseconds
const ROWS = 'tr[id], li[id], article[id]';

/** Keep the regions of the page up to date; the poll that does. `renewed` is called after every change. */
export function refresh(regions, renewed) {
  async function ask(signal) {
    const answer = await get(location.href, signal);
    return answer.text();
  }

  function take(html) {
    const page = new DOMParser().parseFromString(html, 'text/html');
    localise(page);
    let added = 0;
    for (const one of regions) {
      const fresh = page.getElementById(one.id);
      if (!fresh) continue;
      const known = new Set(names(one));
      added += names(fresh).filter((name) => !known.has(name)).length;
      merge(one, fresh);
    }
    if (added) announce(say(added === 1 ? 'row' : 'rows', { n: added }));
    renewed();
    if (!page.querySelector('[data-list]')) poll.end(); // nothing there changes any more
  }

  const poll = new Poll(EVERY, ask, take);
  return poll;
}

/** What the rows of a region are known by. */
function names(region) {
  return [...region.querySelectorAll(ROWS)].map((one) => one.id);
}
