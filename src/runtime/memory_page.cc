// The memory timeline as a page of its own: nothing is loaded from elsewhere.
#include "runtime/recording.h"

namespace weft::runtime {
namespace {

constexpr std::string_view kBefore = R"page(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Memory timeline</title>
<style>
body { font: 14px system-ui, sans-serif; margin: 20px; color: #222; max-width: 1240px; }
h1 { font-size: 20px; margin: 0 0 4px; } h2 { font-size: 16px; margin: 22px 0 6px; }
.note { color: #555; } svg { display: block; cursor: crosshair; } svg text { font-size: 12px; fill: #444; }
#legend span { margin-right: 16px; white-space: nowrap; }
#legend i, td i { display: inline-block; width: 11px; height: 11px; margin-right: 5px; border-radius: 2px; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; border-bottom: 1px solid #999; }
th, td { padding: 3px 10px 3px 0; vertical-align: top; } td { border-bottom: 1px solid #eee; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td:nth-child(2) { white-space: nowrap; }
td.stack { font: 12px ui-monospace, monospace; } summary { cursor: pointer; }
pre { margin: 2px 0; white-space: pre-wrap; }
</style></head><body>
<h1>Memory timeline</h1><div class="note" id="summary"></div>
<svg id="plot" width="1200" height="380"></svg><div id="legend"></div>
<div class="note">Move over the picture to read sizes; click to list what is alive then.</div>
<h2 id="alive_title"></h2><table id="alive"></table>
<h2>Largest allocations</h2><table id="largest"></table>
<script>
const data =
)page";

constexpr std::string_view kAfter = R"page(;
const colors = {parameter: "#4e79a7", input: "#76b7b2", output: "#59a14f", activation: "#f28e2b",
                temporary: "#edc948", workspace: "#b07aa1", earlier: "#bab0ac"};
const color = i => colors[data.categories[i]];
function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(bytes) >= 1024 && unit < units.length - 1) { bytes /= 1024; ++unit; }
  return (unit ? bytes.toFixed(bytes < 10 ? 2 : 1) : bytes) + " " + units[unit];
}
const time = ns => ns >= 1e9 ? (ns / 1e9).toFixed(3) + " s" : (ns / 1e6).toFixed(3) + " ms";
const total = point => point.reduce((sum, bytes) => sum + bytes, 0);
const totals = data.bytes.map(total);
const peak = totals.reduce((best, value, i) => value > totals[best] ? i : best, 0);
const most = Math.max(1, ...totals), length = Math.max(1, data.length_ns);
const left = 80, top_ = 12, width = 1070, height = 320;
const x = ns => left + width * ns / length, y = bytes => top_ + height * (1 - bytes / (most * 1.05));
const plot = document.getElementById("plot");
function draw(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  plot.appendChild(element);
  return element;
}
for (let i = 0; i <= 4; ++i) {
  const bytes = most * i / 4, at = length * i / 4;
  draw("line", {x1: left, x2: left + width, y1: y(bytes), y2: y(bytes), stroke: "#ddd"});
  draw("text", {x: left - 6, y: y(bytes) + 4, "text-anchor": "end"}, size(bytes));
  draw("text", {x: x(at), y: top_ + height + 18, "text-anchor": "middle"}, time(at));
}
let below = data.times.map(() => 0);
data.categories.forEach((category, c) => {
  const above = below.map((bytes, i) => bytes + Math.max(0, data.bytes[i][c]));
  if (above.some((bytes, i) => bytes > below[i])) {
    const there = [], back = [];
    data.times.forEach((begin, i) => {
      const end = i + 1 < data.times.length ? data.times[i + 1] : length;
      there.push(`${x(begin).toFixed(1)},${y(above[i]).toFixed(1)} ${x(end).toFixed(1)},${y(above[i]).toFixed(1)}`);
      back.unshift(`${x(end).toFixed(1)},${y(below[i]).toFixed(1)} ${x(begin).toFixed(1)},${y(below[i]).toFixed(1)}`);
    });
    draw("polygon", {points: there.join(" ") + " " + back.join(" "), fill: color(c)});
    const entry = document.createElement("span"), patch = document.createElement("i");
    patch.style.background = color(c);
    entry.append(patch, category);
    document.getElementById("legend").appendChild(entry);
  }
  below = above;
});
const cursor = draw("line", {y1: top_, y2: top_ + height, stroke: "#000", "stroke-dasharray": "3 3"});
const label = draw("text", {y: top_ + 12});
function position(ns) {
  let low = 0, high = data.times.length - 1;
  while (low < high) { const middle = (low + high + 1) >> 1; if (data.times[middle] <= ns) low = middle; else high = middle - 1; }
  return low;
}
function point(ns) {
  cursor.setAttribute("x1", x(ns)); cursor.setAttribute("x2", x(ns));
  if (!data.times.length) return;
  const i = position(ns), right = ns > length * 0.6;
  const parts = data.categories.map((name, c) => [name, data.bytes[i][c]]).filter(part => part[1] > 0);
  label.textContent = time(ns) + ": " + size(totals[i]) + "  (" + parts.map(p => p[0] + " " + size(p[1])).join(", ") + ")";
  label.setAttribute("x", x(ns) + (right ? -6 : 6));
  label.setAttribute("text-anchor", right ? "end" : "start");
}
const at = event => Math.min(length, Math.max(0, (event.offsetX - left) / width * length));
plot.addEventListener("mousemove", event => point(at(event)));
plot.addEventListener("click", event => list_alive(at(event)));
function fill(table, rows) {
  table.replaceChildren();
  const head = table.insertRow();
  for (const title of ["Size", "Category", "Tensor", "Made by", "From", "To", "Stack"]) {
    const cell = document.createElement("th");
    cell.textContent = title;
    head.appendChild(cell);
  }
  for (const [begin, end, bytes, category, type, operator, stack, device] of rows) {
    const row = table.insertRow(), cell = (text, kind) => {
      const made = row.insertCell(); made.textContent = text; if (kind) made.className = kind; return made;
    };
    cell(size(bytes), "number");
    const patch = document.createElement("i"), named = cell("");
    patch.style.background = color(category);
    named.append(patch, data.categories[category]);
    cell(data.texts[type] + (data.texts[device] === "cpu" ? "" : " " + data.texts[device]));
    cell(data.texts[operator]);
    cell(time(begin), "number");
    cell(end >= length ? "" : time(end), "number");
    const lines = data.texts[stack], where = cell("", "stack");
    if (!lines) continue;
    const first = lines.split("\n"), details = document.createElement("details");
    const summary = document.createElement("summary"), all = document.createElement("pre");
    summary.textContent = first[0];
    all.textContent = first.slice(1).join("\n");
    details.append(summary, all);
    where.appendChild(first.length > 1 ? details : document.createTextNode(lines));
  }
}
function list_alive(ns) {
  point(ns);
  const rows = data.allocations.filter(a => a[0] <= ns && ns < Math.max(a[1], a[0] + 1));
  const sum = rows.reduce((bytes, row) => bytes + row[2], 0);
  document.getElementById("alive_title").textContent =
      `Alive at ${time(ns)}: ${size(sum)} in ${rows.length} blocks` + (rows.length > 40 ? ", the largest 40" : "");
  fill(document.getElementById("alive"), rows.slice(0, 40));
}
document.getElementById("summary").textContent = `${time(length)}, ${data.count} blocks of memory` +
    (data.count > data.allocations.length ? ` (the largest ${data.allocations.length} are listed)` : "") +
    (totals.length ? `, ${size(most)} at most, at ${time(data.times[peak])}` : "");
list_alive(totals.length ? data.times[peak] : 0);
fill(document.getElementById("largest"), data.allocations.slice(0, 100));
</script></body></html>
)page";

}  // namespace

std::string memory_page(const std::vector<profiler::Allocation>& allocations, int64_t length_ns) {
  std::string json = memory_json(allocations, length_ns);
  // A text that ends the script would end the page.
  for (size_t at = 0; (at = json.find("</", at)) != std::string::npos; at += 3) json.insert(at + 1, "\\");
  return std::string(kBefore) + json + std::string(kAfter);
}

}  // namespace weft::runtime
