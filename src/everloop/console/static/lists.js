// Lists that are kept up to date: the page is asked for again, and its marked regions are made equal to what it says.

import { merge } from './merge.js';
import { get, Poll } from './polls.js';
import { localise } from './times.js';

const EVERY = 10000; // milliseconds

/** Keep the regions of the page up to date; the poll that does. `renewed` is called after every change. */
export function refresh(regions, renewed) {
  async function ask(signal) {
    const answer = await get(location.href, signal);
    return answer.text();
  }

  function take(html) {
    const page = new DOMParser().parseFromString(html, 'text/html');
    localise(page);
    for (const one of regions) {
      const fresh = page.getElementById(one.id);
      if (fresh) merge(one, fresh);
    }
    renewed();
    if (!page.querySelector('[data-list]')) poll.end(); // nothing there changes any more
  }

  const poll = new Poll(EVERY, ask, take);
  return poll;
}
