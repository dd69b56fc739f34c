// Returns the faults of the page for people who do not see well, use no mouse or have a small
// screen.
const faults = [];
const say = (what, element) => faults.push(`${what}: ${element.outerHTML.slice(0, 120)}`);
const all = (css) => Array.from(document.querySelectorAll(css));
const name = (e) => e.getAttribute("aria-label") || e.textContent.trim() || e.getAttribute("alt");

if (all("h1").length !== 1) faults.push(`${all("h1").length} main headings`);
if (!document.documentElement.lang) faults.push("no language");
all("img:not([alt])").forEach((e) => say("an image without a text", e));
all("a, button, summary, [role=img], nav[aria-label=''], [role=group]").forEach((e) => {
  if (!name(e)) say("something without a name", e);
});
all("input, select").forEach((e) => { if (!e.labels.length) say("a field without a label", e); });
all("thead th:not([scope])").forEach((e) => say("a column's head without a scope", e));
all("table").forEach((e) => { if (!e.caption) say("a table without a caption", e); });
all("[tabindex]").forEach((e) => { if (e.tabIndex > 0) say("an order of its own", e); });
const ids = all("[id]").map((e) => e.id);
ids.forEach((id, at) => { if (ids.indexOf(id) !== at) faults.push(`the id ${id} twice`); });
if (document.documentElement.scrollWidth > window.innerWidth) {
  faults.push(`wider than the window: ${document.documentElement.scrollWidth} > ${window.innerWidth}`);
}

// WCAG 2 AA requires a contrast of text of at least 4.5.
const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
const context = canvas.getContext("2d", { willReadFrequently: true });
function drawn(colours) {
  context.clearRect(0, 0, 1, 1);
  for (const colour of colours) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
  return context.getImageData(0, 0, 1, 1).data;
}
function luminance([r, g, b]) {
  const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}
function grounds(element) {
  const colours = [];
  for (let e = element; e; e = e.parentElement) colours.unshift(getComputedStyle(e).backgroundColor);
  return ["white", ...colours];
}
all("body *").forEach((e) => {
  const own = Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.data.trim());
  if (!own || e.closest("svg") || !e.checkVisibility()) return;
  const ground = grounds(e);
  const [a, b] = [drawn(ground), drawn([...ground, getComputedStyle(e).color])].map(luminance);
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < 4.5) say(`a contrast of ${contrast.toFixed(2)}`, e);
});
return faults;
