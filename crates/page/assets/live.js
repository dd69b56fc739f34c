"use strict";
// Brings the parts of the page up to date, and shows times as those of the reader's place. Without this
// script the page loads itself anew now and then, and times are UTC.
const main = document.getElementById("main");
const live = document.getElementById("live");
let source = null;
// The text of each part, cut behind each ">". What is sent says which pieces are kept and what is new.
const pieces = new Map();

// Shows the times in a part of the page as those of this place, with the date unless it is today's.
// Their titles say them in UTC.
function localise(part) {
  const iso = (at) => new Date(at - at.getTimezoneOffset() * 60000).toISOString();
  const today = iso(new Date()).slice(0, 10);
  for (const time of part.querySelectorAll("time.at")) {
    const utc = time.dateTime;
    const local = iso(new Date(utc));
    const [day, clock] = [local.slice(0, 10), local.slice(11, utc.length - 1)];
    time.textContent = day === today ? clock : `${day} ${clock}`;
  }
}

// Changes what differs and nothing else, so that focus, fields and what was unfolded stay.
function update(here, next) {
  if (here.nodeName !== next.nodeName) return here.replaceWith(next);
  if (here.nodeType === Node.TEXT_NODE) {
    if (here.data !== next.data) here.data = next.data;
    return;
  }
  for (const { name } of Array.from(here.attributes)) {
    if (name !== "open" && !next.hasAttribute(name)) here.removeAttribute(name);
  }
  for (const { name, value } of Array.from(next.attributes)) {
    if (here.getAttribute(name) !== value) here.setAttribute(name, value);
  }
  while (here.childNodes.length > next.childNodes.length) here.lastChild.remove();
  Array.from(next.childNodes).forEach((child, at) => {
    const old = here.childNodes[at];
    if (old) update(old, child); else here.append(child);
  });
}

function connect() {
  source = new EventSource(main.dataset.live);
  source.onopen = () => { live.textContent = "live"; live.className = "live on"; };
  source.onerror = () => {
    live.className = "live off";
    live.textContent = "not live: trying again";
    // Whatever is refused, as by a coordinator that was started again, is not tried again by itself.
    if (source.readyState === EventSource.CLOSED) setTimeout(reload, 5000);
  };
  source.onmessage = (event) => {
    const [id, ...steps] = JSON.parse(event.data);
    const former = pieces.get(id);
    const made = (step) => typeof step === "string" ? step : former.slice(step[0], step[0] + step[1]).join("");
    const text = steps.map(made).join("");
    pieces.set(id, text.match(/[^>]*>/g));
    const part = new DOMParser().parseFromString(text, "text/html").body.firstChild;
    localise(part);
    const here = document.getElementById(id);
    if (here) update(here, part);
    const title = part.querySelector("[data-title]");
    if (title) document.title = `${title.dataset.title} · queens`;
  };
}

// Loads the page anew, but not while a coordinator reads its ledger or a proxy finds none: they
// answer with a page that does not have this script, and that would stay.
async function reload() {
  const answer = await fetch(location.href).catch(() => null);
  if (answer && answer.status < 500) location.reload(); else setTimeout(reload, 5000);
}

// A page that nobody sees asks for nothing.
function follow() {
  if (document.hidden && source) { source.close(); source = null; }
  if (!document.hidden && !source) connect();
}

localise(document);
if (main.dataset.live && window.EventSource) {
  document.addEventListener("visibilitychange", follow);
  follow();
  // The title of a page that nobody sees is brought up to date once a minute.
  if (document.querySelector("[data-title]")) {
    setInterval(() => {
      if (!document.hidden || source) return;
      connect();
      setTimeout(follow, 3000);
    }, 60000);
  }
}
