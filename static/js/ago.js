// Keeps relative times true: every <time data-ago> on the page, in the phrases that #live carries.

const UNITS = [[60, 1, "agoS"], [3600, 60, "agoMin"], [2 * 86400, 3600, "agoH"], [Infinity, 86400, "agoDays"]];

export function keepTimes(live) {
  // The server's clock counts; the browser's may be wrong.
  const ahead = Date.now() - Date.parse(live.dataset.now);

  function words(when) {
    const seconds = Math.max(0, Math.floor((Date.now() - ahead - when) / 1000));
    const [, unit, phrase] = UNITS.find(([most]) => seconds < most);
    return live.dataset[phrase].replace("%(n)d", Math.floor(seconds / unit));
  }

  function update() {
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const text = words(Date.parse(time.dateTime));
      if (time.textContent !== text) time.textContent = text;
    }
  }

  setInterval(update, 1000);
}
