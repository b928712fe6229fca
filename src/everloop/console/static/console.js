// The console's script. Every page is complete without it: this keeps a page up to date while somebody looks at it.

import { localise } from './times.js';

const main = document.querySelector('main');
const lists = [...document.querySelectorAll('[data-list]')];

localise(document);
await offer();

if (main.dataset.cursor !== undefined) {
  if (main.dataset.ended === undefined) refreshing((await import('./live.js')).follow(main, offer));
} else if (lists.length) {
  refreshing((await import('./lists.js')).refresh(lists, offer));
}
document.documentElement.dataset.script = 'on';

/** Have the page's Refresh ask at once, in place of loading the page anew. */
function refreshing(poll) {
  for (const link of document.querySelectorAll('a[data-refresh]')) {
    link.addEventListener('click', (event) => {
      if (poll.over || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      poll.now(true);
    });
  }
}

/** What only a script can give, for those parts of the page that do not have it yet. */
async function offer() {
  const [pictures, commands] = [document.querySelectorAll('a[data-svg]'), document.querySelectorAll('[data-copy]')];
  if (!pictures.length && !commands.length) return;
  const { offerCopy, offerPng } = await import('./downloads.js');
  pictures.forEach(offerPng);
  commands.forEach(offerCopy);
}
