// Put into a copy of the report by browser_test.rs: measures the charts and writes what it finds into the page, as JSON.
const seen = { charts: 0, bars: 0, named: 0, overlaps: [], faint: [], overflow: 0, ground: "" };
const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
const luminance = (colour) => {
  const [r, g, b] = channels(colour).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};
// A pixel of slack: letters have air around them.
const within = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;

seen.ground = getComputedStyle(document.body).backgroundColor;
for (const width of [1200, 360]) {
  document.body.style.width = `${width}px`;
  seen.charts = seen.bars = seen.named = 0;
  for (const svg of document.querySelectorAll("svg.chart")) {
    const box = svg.getBoundingClientRect();
    const ground = getComputedStyle(svg).backgroundColor;
    seen.charts += box.width > 0 && box.height > 0 && box.right <= width ? 1 : 0;
    const [title, description] = svg.getAttribute("aria-labelledby").split(" ").map((id) => document.getElementById(id));
    seen.named += title.textContent && description.textContent ? 1 : 0;
    for (const bar of svg.querySelectorAll("rect.length")) {
      const area = bar.getBoundingClientRect();
      const plain = contrast(getComputedStyle(bar).fill, ground) < 3;
      seen.bars += area.width > 0 && area.height > 0 && within(area, box) && !plain ? 1 : 0;
    }
    const texts = [...svg.querySelectorAll("text")].map((text) => ({ text, area: text.getBoundingClientRect() }));
    texts.forEach(({ text, area }, i) => {
      if (!within(area, box)) seen.overlaps.push(`${width}: ${text.textContent} leaves ${svg.id}`);
      for (const other of texts.slice(i + 1)) {
        if (overlap(area, other.area)) seen.overlaps.push(`${width}: ${text.textContent} on ${other.text.textContent} in ${svg.id}`);
      }
      if (contrast(getComputedStyle(text).fill, ground) < 4.5) seen.faint.push(`${text.textContent} in ${svg.id}`);
    });
  }
  for (const text of document.querySelectorAll("h1, h2, p, dt, dd, th, td, li")) {
    if (contrast(getComputedStyle(text).color, seen.ground) < 4.5) seen.faint.push(text.textContent);
  }
  const main = document.querySelector("main");
  seen.overflow = Math.max(seen.overflow, main.scrollWidth - width);
}
const out = document.createElement("pre");
out.id = "seen";
out.textContent = JSON.stringify(seen);
document.body.append(out);
