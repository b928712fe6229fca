// Making what is shown equal to what the server says now, and leaving alone whatever is equal already.
//
// Elements stay the same objects, so that focus, selection, scrolling and opened details stay with them. An element is
// the same one if its id (or data-seq, data-key) is; without one, if it stands in the same place.

const OWN = 'data-own'; // what a script of ours has put there
const LEFT = 'data-events'; // what another module keeps up to date

/** Make `old` equal to `fresh`, which is used up. */
export function merge(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = fresh.nodeValue;
    return;
  }
  attributes(old, fresh);
  if (!old.hasAttribute(LEFT)) children(old, fresh);
}

function attributes(old, fresh) {
  const kept = (name) => name === 'open' && old.localName === 'details'; // the reader's own choice
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !kept(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !kept(name)) old.setAttribute(name, value);
  }
}

function children(old, fresh) {
  const named = new Map();
  for (const one of old.children) if (key(one)) named.set(key(one), one);
  const wanted = new Set([...fresh.children].map(key).filter(Boolean));
  const stays = (one) => key(one) && wanted.has(key(one));
  let at = old.firstChild; // all before it is done
  for (const one of [...fresh.childNodes]) {
    at = without(at, (other) => key(other) && !stays(other));
    let found = key(one) ? named.get(key(one)) : at && !key(at) && alike(at, one) ? at : null;
    if (found && !alike(found, one)) {
      found.replaceWith(one);
      if (found === at) at = one;
      found = one;
    }
    if (!found) {
      old.insertBefore(one, at);
      continue;
    }
    if (found !== at) at = ahead(at, found, stays) ? without(at, (other) => other !== found) : moved(found, at);
    at = at === found ? found.nextSibling : at;
    if (found !== one) merge(found, one);
  }
  without(at, () => true);
}

/** Take siblings from `at` on away while they are to go, but for what a script of ours put there; the first that stays. */
function without(at, goes) {
  while (at && (isOwn(at) || goes(at))) {
    const next = at.nextSibling;
    if (!isOwn(at)) at.remove();
    at = next;
  }
  return at;
}

/** Whether `found` follows `at` with nothing between them that stays: then it need not be moved, which costs focus. */
function ahead(at, found, stays) {
  let one = at;
  while (one && one !== found && !stays(one)) one = one.nextSibling;
  return one === found;
}

function moved(found, at) {
  if (found.parentNode.moveBefore) found.parentNode.moveBefore(found, at);
  else found.parentNode.insertBefore(found, at);
  return at;
}

function key(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset.seq || node.dataset.key : undefined;
}

function alike(one, other) {
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName;
}

function isOwn(node) {
  return node.nodeType === Node.ELEMENT_NODE && node.hasAttribute(OWN);
}
