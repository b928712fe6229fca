// Asking again and again: only while somebody looks, never twice at once, less and less often while nobody answers.

import { announce, button, clear, own, show } from './notice.js';
import { clock } from './times.js';
import { say } from './words.js';

const PATIENCE = 20000; // milliseconds until an answer that does not come counts as none
const SLOWEST = 60000; // milliseconds between two tries

/** What no further question would change: signed out, or not there any more. */
class Final extends Error {}

/** The answer of an address. Final, or an error that may be over at the next try. */
export async function get(address, signal) {
  const answer = await fetch(address, { signal, redirect: 'manual' });
  if (!answer.ok) answer.body?.cancel(); // nobody reads it, and the connection is needed
  if (answer.type === 'opaqueredirect' || answer.status === 401) throw new Final('signedOut');
  if ([403, 404, 410].includes(answer.status)) throw new Final('gone');
  if (!answer.ok) throw Object.assign(new Error(answer.statusText), { wait: Number(answer.headers.get('Retry-After')) });
  return answer;
}

/** One question that is asked every so many milliseconds until `end`. */
export class Poll {
  over = false;
  #every;
  #ask;
  #take;
  #timer;
  #asking = null;
  #failures = 0;
  #soon = false;
  #wanted = false; // whether the reader asked for this one
  #left = false; // whether the page was left, perhaps to come back to it
  #retry = button('retry', () => this.now(true));

  /** `ask(signal, wanted)` promises an answer, `take(answer)` shows it; `wanted`: the reader asked for this one. */
  constructor(every, ask, take) {
    [this.#every, this.#ask, this.#take] = [every, ask, take];
    document.addEventListener('visibilitychange', () => this.now());
    addEventListener('online', () => this.now());
    addEventListener('pagehide', () => { this.#left = true; });
    addEventListener('pageshow', () => {
      if (this.#left) this.now();
      this.#left = false;
    });
    this.#later(every);
  }

  /** Ask at once, if somebody looks; `wanted`: they asked for it, and are told when it is done. */
  now(wanted = false) {
    this.#wanted ||= wanted;
    if (this.over || this.#asking || document.visibilityState !== 'visible') return;
    clearTimeout(this.#timer);
    this.#turn();
  }

  /** Ask again as soon as the present answer is shown: there is more. */
  soon() {
    this.#soon = true;
  }

  /** Never ask again. */
  end() {
    this.over = true;
    clearTimeout(this.#timer);
  }

  #later(wait) {
    clearTimeout(this.#timer);
    if (!this.over) this.#timer = setTimeout(() => this.now(), wait);
  }

  async #turn() {
    const asking = new AbortController();
    const patience = setTimeout(() => asking.abort(), PATIENCE);
    this.#asking = asking;
    try {
      const answer = await this.#ask(asking.signal, this.#wanted);
      this.#asking = null;
      this.#answered(answer);
    } catch (error) {
      if (!this.#asking) throw error; // not the server's
      this.#asking = null;
      if (!this.#left) this.#failed(error);
    } finally {
      clearTimeout(patience);
    }
  }

  #answered(answer) {
    if (this.#failures) {
      clear();
      announce(say('back'));
    }
    this.#failures = 0;
    this.#soon = false;
    try {
      this.#take(answer);
      if (this.#wanted) announce(say('refreshed', { time: clock(new Date()) }));
    } finally {
      this.#wanted = false;
      this.#later(this.#soon ? 0 : this.#every);
    }
  }

  #failed(error) {
    if (error instanceof Final) {
      this.end();
      show(say(error.message), own('a', { href: location.href, textContent: say('reload') }));
      announce(say(error.message));
      return;
    }
    const slower = Math.min(SLOWEST, this.#every * 2 ** this.#failures) * (0.9 + 0.2 * Math.random());
    const wait = Math.max(slower, (error.wait || 0) * 1000);
    if (!this.#failures || this.#wanted) announce(say('silent'));
    this.#failures += 1;
    this.#wanted = false;
    show(say('away', { time: clock(new Date(Date.now() + wait)) }), this.#retry);
    this.#later(wait);
  }
}
