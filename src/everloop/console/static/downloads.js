// What only a script can give: a picture as PNG, and a command in the clipboard.

import { announce, button, own, show } from './notice.js';
import { say } from './words.js';

const SCALE = 2; // pixels of the PNG for one of the picture's own
const offered = new WeakSet();

/** Offer the picture behind a link to its SVG as PNG as well. */
export function offerPng(link) {
  if (offered.has(link)) return;
  offered.add(link);
  const file = new URL(link.href).pathname.split('/').at(-1).replace(/\.svg$/, '.png');
  const made = own('a', { href: link.href, className: link.className, textContent: 'PNG' });
  made.addEventListener('click', async (event) => {
    event.preventDefault();
    try {
      const address = URL.createObjectURL(await png(link.href));
      own('a', { href: address, download: file }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60000);
    } catch { // signed out, the server is away, or the browser has no room for it
      tell('unmade');
    }
  });
  link.after(made);
}

/** Say what did not work, on the page and to those who hear it. */
function tell(name) {
  show(say(name));
  announce(say(name));
}

async function png(address) {
  const picture = new Image();
  picture.src = address;
  await picture.decode();
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width: picture.naturalWidth * SCALE, height: picture.naturalHeight * SCALE });
  canvas.getContext('2d').drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => { canvas.toBlob(done, 'image/png'); });
}

/** Put a button beside a command that copies it; where the connection is not secure there is no clipboard. */
export function offerCopy(command) {
  if (offered.has(command) || !navigator.clipboard) return;
  offered.add(command);
  const made = button('copyIt', async () => {
    try {
      await navigator.clipboard.writeText(command.textContent.trim());
    } catch { // the reader or the browser does not allow it
      tell('uncopied');
      return;
    }
    announce(say('copied'));
    made.textContent = say('copied');
    setTimeout(() => { made.textContent = say('copyIt'); }, 2000);
  });
  command.after(made);
}
