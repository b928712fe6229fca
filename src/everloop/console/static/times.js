// Times: the server writes UTC, here they become the reader's own, always with the zone; UTC stays in the title.

const form = new Intl.DateTimeFormat(document.documentElement.lang || 'en', {
  year: 'numeric', month: '2-digit', day: '2-digit',
  hour: '2-digit', minute: '2-digit', second: '2-digit',
  hourCycle: 'h23', timeZoneName: 'short',
});

function parts(moment) {
  return Object.fromEntries(form.formatToParts(moment).map(({ type, value }) => [type, value]));
}

/** The time of day of a moment, e.g. 14:03:05. */
export function clock(moment) {
  const { hour, minute, second } = parts(moment);
  return `${hour}:${minute}:${second}`;
}

/** Make every <time> below `root` local. One that was done before is left as it is. */
export function localise(root) {
  for (const one of root.querySelectorAll('time[datetime]:not([title])')) {
    const moment = new Date(one.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const { year, month, day, hour, minute, second, timeZoneName } = parts(moment);
    one.title = one.textContent;
    one.textContent = `${year}-${month}-${day} ${hour}:${minute}:${second} ${timeZoneName}`;
  }
}
