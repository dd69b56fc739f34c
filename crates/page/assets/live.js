"use strict";
// Replaces the parts of the page that have changed. Without this script the page loads itself anew now and then.
const main = document.getElementById("main");
const live = document.getElementById("live");
let source = null;

function replace(part) {
  const here = document.getElementById(part.id);
  if (!here) return;
  const open = Array.from(here.querySelectorAll("details"), (details) => details.open);
  const active = here.contains(document.activeElement);
  if (active && here.querySelector("form")) return; // Somebody is about to press a button of it.
  part.querySelectorAll("details").forEach((details, at) => { details.open = Boolean(open[at]); });
  here.replaceWith(part);
}

function connect() {
  source = new EventSource(main.dataset.live);
  source.onopen = () => { live.textContent = "live"; live.className = "live on"; };
  source.onerror = () => { live.textContent = "not live: trying again"; live.className = "live off"; };
  source.onmessage = (event) => {
    const parsed = new DOMParser().parseFromString(event.data, "text/html");
    Array.from(parsed.body.children).forEach((part) => replace(document.adoptNode(part)));
  };
}

// A page that nobody sees asks for nothing.
function follow() {
  if (document.hidden && source) { source.close(); source = null; }
  if (!document.hidden && !source) connect();
}

if (main.dataset.live && window.EventSource) {
  document.addEventListener("visibilitychange", follow);
  follow();
}
