// The page of a benchmark: selects, sorts and draws what Python computed. Nothing here is a formula, but a difference.
const $ = id => document.getElementById(id);
const MINUS = "−", ALL = "";  // the data set "" is all of them
const TYPES = { float64: Float64Array, float32: Float32Array, uint16: Uint16Array, uint8: Uint8Array, int32: Int32Array };

// Four decimals as Python prints them: a tie (an odd number of 32nds) goes to the even digit.
const four = v => {
  if (v === null || Number.isNaN(v)) return "–";
  const tie = Number.isInteger(v * 32) && v * 32 % 2 !== 0, whole = Math.floor(v * 1e4);
  return (tie ? (whole % 2 ? whole + 1 : whole) / 1e4 : v).toFixed(4).replace("-", MINUS);
};
const signed = v => (v > 0 ? "+" : "") + four(v);
const escaped = text => String(text).replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const listed = words => words.length < 2 ? words.join("") : words.slice(0, -1).join(", ") + " and " + words.at(-1);
const COLOUR = Object.fromEntries(FIGURES.curves.encoding.color.scale.domain.map((r, i) => [r, FIGURES.curves.encoding.color.scale.range[i]]));

// Packed arrays: base 64 of deflated bytes.
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.data), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const array = new TYPES[packed.type](await new Response(stream).arrayBuffer());
  return { array, shape: packed.shape, at(...index) { return array[index.reduce((sum, i, axis) => sum * packed.shape[axis] + i, 0)]; } };
}
async function unpackAll(record) {
  await Promise.all(Object.entries(record).map(async ([name, value]) => { if (value?.data && value.type) record[name] = await unpack(value); }));
}

// What the reader chose, kept in the address behind #.
const DEFAULTS = { data: BENCH.data[0], tool: BENCH.tool, convention: BENCH.conventions.includes("official") ? "official" : BENCH.conventions[0],
  measure: BENCH.measures.includes("NDCG@10") ? "NDCG@10" : BENCH.measures[0], sort: "place", order: "ascending", filter: "", a: "", b: "", important: "",
  across: "number", theme: "" };
const state = { ...DEFAULTS }, opened = new Set();
const VALID = { data: [...BENCH.data, ...(BENCH.data.length > 1 ? [ALL] : [])], tool: BENCH.tools, convention: BENCH.conventions, measure: BENCH.measures,
  order: ["ascending", "descending"], across: ["number", "place"], theme: ["light", "dark", ""] };
function readHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const key of Object.keys(DEFAULTS)) {
    const value = given.get(key);
    state[key] = value !== null && (VALID[key]?.includes(value) ?? true) ? value : DEFAULTS[key];
  }
}
function writeHash() {
  const kept = Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key]);
  const hash = new URLSearchParams(kept).toString();
  history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
}

// Looking up.
const tool = () => BENCH.tools.indexOf(state.tool), measure = () => BENCH.measures.indexOf(state.measure);
const panel = data => BENCH.panels[state.convention][data];
const whole = () => BENCH.overall[state.convention];
const shownData = () => state.data === ALL ? BENCH.data : [state.data];
const means = () => (state.data === ALL ? whole() : panel(state.data)).means;
const mean = (ranker, t = tool(), m = measure()) => means().at(t, m, BENCH.rankers.indexOf(ranker));
const present = (t = tool(), m = measure()) => BENCH.rankers.filter(r => !Number.isNaN(mean(r, t, m)));
function places(t = tool(), m = measure()) {  // ranker → place; equal means share the better one
  const order = present(t, m).sort((x, y) => mean(y, t, m) - mean(x, t, m)), found = {};
  order.forEach((r, i) => { found[r] = i && mean(order[i - 1], t, m) === mean(r, t, m) ? found[order[i - 1]] : i + 1; });
  return found;
}
const ranked = () => Object.keys(places()).sort((x, y) => mean(y) - mean(x));
const seconds = (data, ranker) => panel(data).costs[ranker]?.select_seconds ?? NaN;
const parts = text => { const [family, cutoff] = text.split("@"); return { family, cutoff: cutoff ?? "" }; };

// The switches.
const option = (value, text, chosen) => `<option value="${escaped(value)}"${value === chosen ? " selected" : ""}>${escaped(text)}</option>`;
function radio(group, value, text, chosen) {
  return `<label><input type="radio" name="${group}" value="${escaped(value)}"${value === chosen ? " checked" : ""}><span>${escaped(text)}</span></label>`;
}
function drawSwitches() {
  const { family, cutoff } = parts(state.measure);
  $("data").innerHTML = VALID.data.map(d => option(d, d || `all ${BENCH.data.length}`, state.data)).join("");
  $("tool").innerHTML = BENCH.tools.map(t => option(t, t, state.tool)).join("");
  $("convention").innerHTML = BENCH.conventions.map(c => option(c, c, state.convention)).join("");
  $("trained").hidden = BENCH.conventions.length < 2; $("trained").style.display = BENCH.conventions.length < 2 ? "none" : "";
  const focused = document.activeElement?.name;
  $("family").innerHTML = Object.keys(BENCH.families).map(f => radio("family", f, f, family)).join("");
  $("cutoff").innerHTML = BENCH.families[family].map(k => radio("cutoff", String(k), `${k}`, cutoff)).join("");
  $("cutoffs").style.display = BENCH.families[family].length > 1 ? "" : "none";
  if (focused === "family" || focused === "cutoff") document.querySelector(`input[name=${focused}]:checked`)?.focus();
}
function withCutoff(family) {
  const cutoffs = BENCH.families[family], now = Number(parts(state.measure).cutoff || parts(DEFAULTS.measure).cutoff);
  return cutoffs.length ? `${family}@${cutoffs.includes(now) ? now : cutoffs.at(-1)}` : family;
}

const behindBest = r => state.data !== ALL && panel(state.data).worse.at(tool(), measure(), BENCH.rankers.indexOf(r)) === 1;

// The leaderboard: a column has a head, a key to sort by, and a cell.
function columns() {
  const first = BENCH.tools.indexOf(BENCH.tool), now = places(), before = places(first), best = ranked()[0];
  const place = { id: "place", head: "#", key: r => now[r] ?? Infinity, cell: r => now[r] ?? "–", kind: "dim" };
  const name = { id: "ranker", head: "Ranker", key: r => r, cell: r => `<button type="button" class="open" aria-expanded="${opened.has(r)}" data-open="${escaped(r)}"><span><i class="swatch" style="background:${COLOUR[r]}"></i>${escaped(r)}</span></button>`, row: true };
  const value = { id: "mean", head: state.data === ALL ? `Mean ${state.measure}` : state.measure, key: r => mean(r), cell: r => four(mean(r)) + (behindBest(r) ? '<span class="narrow">†</span>' : ""), kind: "value" };
  const moved = { id: "moved", head: `Place vs ${BENCH.tool}`, key: r => (before[r] ?? NaN) - (now[r] ?? NaN), kind: "wide", cell: r => {
    const by = (before[r] ?? NaN) - (now[r] ?? NaN);
    return Number.isNaN(by) ? "–" : by === 0 ? '<span class="dim">=</span>' : by > 0 ? `<span class="up" aria-label="up ${by}">▲ ${by}</span>` : `<span class="down" aria-label="down ${-by}">▼ ${-by}</span>`; } };
  if (state.data === ALL) {
    const wins = r => whole().wins.at(tool(), measure(), BENCH.rankers.indexOf(r)), of = r => whole().pairs.at(tool(), measure(), BENCH.rankers.indexOf(r));
    const sets = BENCH.data.map(d => ({ id: `on ${d}`, head: d, kind: "wide", key: r => panel(d).means.at(tool(), measure(), BENCH.rankers.indexOf(r)), cell: r => four(panel(d).means.at(tool(), measure(), BENCH.rankers.indexOf(r))) }));
    return [place, name, value, ...sets, { id: "wins", head: "Wins", key: wins, cell: r => `${wins(r)} <span class="dim">of ${of(r)}</span>` }, moved];
  }
  const here = panel(state.data), at = r => [tool(), measure(), BENCH.rankers.indexOf(r)];
  const interval = { id: "low", head: "95 % interval", key: r => here.low.at(...at(r)), cell: bars(), kind: "bar" };
  const behind = { id: "behind", head: "Behind the best", key: r => mean(best) - mean(r), kind: "wide", cell: r => {
    if (r === best) return '<span class="dim">best</span>';
    const p = here.p.at(...at(r));
    return `${four(mean(r) - mean(best))}<span title="p = ${p.toPrecision(2)}, corrected">${behindBest(r) ? " †" : ' <span class="dim">≈</span>'}</span>`; } };
  const spent = { id: "seconds", head: "Seconds", key: r => seconds(state.data, r), kind: "wide dim", cell: r => duration(seconds(state.data, r)) };
  const known = here.published[state.measure] ?? [], own = r => known.filter(row => row[0] === r);
  const published = { id: "published", head: "Published", key: r => own(r)[0]?.[2] ?? NaN, kind: "wide", cell: r => own(r).map(([, name, v], i, all) => `<span title="${escaped(name)}">${all.length > 1 ? `<small class="dim">${escaped(name)}</small> ` : ""}${four(v)}</span> <span class="dim">${signed(mean(r) - v)}</span>`).join("<br>") || "–" };
  return [place, name, value, interval, behind, ...(BENCH.tools.length > 1 ? [moved] : []), ...(known.length ? [published] : []), spent];
}
const duration = s => Number.isNaN(s) ? "–" : s >= 100 ? s.toFixed(0) : s >= 1 ? s.toFixed(1) : s.toFixed(2);
function bars() {  // one scale for all rows: from the lowest end of an interval to the highest
  const here = panel(state.data), at = r => [tool(), measure(), BENCH.rankers.indexOf(r)], all = present(), best = ranked()[0];
  const low = Math.min(...all.map(r => here.low.at(...at(r))).filter(v => !Number.isNaN(v))), high = Math.max(...all.map(r => here.high.at(...at(r))).filter(v => !Number.isNaN(v)));
  const x = v => (2 + 96 * (high > low ? (v - low) / (high - low) : .5)).toFixed(2) + "%";
  return r => {
    const [l, m, h] = [here.low.at(...at(r)), mean(r), here.high.at(...at(r))];
    if (Number.isNaN(l)) return '<span class="dim">–</span>';
    return `<svg role="img" aria-label="from ${four(l)} to ${four(h)}"><title>${four(l)} … ${four(h)}</title><line class="track" x1="0" x2="100%" y1="50%" y2="50%"/><line class="lead" x1="${x(mean(best))}" x2="${x(mean(best))}" y1="0" y2="100%"/><line class="span" x1="${x(l)}" x2="${x(h)}" y1="50%" y2="50%"/><circle class="dot" cx="${x(m)}" cy="50%" r="4.5"/></svg>`;
  };
}
function sorter(column) {
  const down = state.order === "descending" ? -1 : 1, now = places();
  return (x, y) => { const [a, b] = [column.key(x), column.key(y)];
    if (typeof a === "string") return down * a.localeCompare(b);
    return Number.isNaN(a) - Number.isNaN(b) || down * (a - b) || (now[x] ?? Infinity) - (now[y] ?? Infinity); };
}
function drawBoard() {
  const all = columns(), sorted = all.find(c => c.id === state.sort) ?? all[0], best = ranked()[0];
  $("board").tHead.innerHTML = "<tr>" + all.map(c => `<th scope="col" class="${c.kind ?? ""}${c.row ? " name" : ""}"${c === sorted ? ` aria-sort="${state.order}"` : ""}><button type="button" data-sort="${escaped(c.id)}">${escaped(c.head)}</button></th>`).join("") + "</tr>";
  const wanted = state.filter.trim().toLowerCase().split(/[\s,]+/).filter(Boolean);
  const rows = present().filter(r => !wanted.length || wanted.some(w => r.toLowerCase().includes(w))).sort(sorter(sorted));
  $("board").tBodies[0].innerHTML = rows.map(r => `<tr data-ranker="${escaped(r)}" class="${r === best ? "leader" : behindBest(r) ? "behind" : ""}">` + all.map(c => c.row ? `<th scope="row">${c.cell(r)}</th>` : `<td class="${c.kind ?? ""}">${c.cell(r)}</td>`).join("") + "</tr>" + (opened.has(r) ? `<tr class="more"><td colspan="${all.length}">${more(r)}</td></tr>` : "")).join("") || `<tr><td colspan="${all.length}" class="name">No ranker matches.</td></tr>`;
  const where = state.data || "all data sets", trained = BENCH.conventions.length > 1 ? `, trained under ${state.convention}` : "";
  $("board-caption").textContent = `${state.measure} of ${present().length} rankers on ${where} under ${state.tool}${trained}`;
  $("board-words").textContent = state.data === ALL ? `Means over the data sets under ${state.tool}${trained}; wins count how often a ranker is ahead of another on a data set.`
    : `${state.measure} on ${where} as ${state.tool} computes it${trained}: the mean over ${panel(state.data).folds.length} folds, with its 95 % interval over queries. Open a row for its folds.`;
  $("board-notes").textContent = [...(state.data === ALL ? [] : ["† significantly behind the best after Holm's correction over all pairs; ≈ not significantly", ...(panel(state.data).published[state.measure] ? ["Published: as printed there, and ours under the chosen tool minus it"] : [])]), ...gaps()].map(note => note + ".").join(" ");
}
function gaps() {
  return shownData().flatMap(d => {
    const here = panel(d), out = BENCH.rankers.filter((r, i) => Number.isNaN(here.means.at(tool(), measure(), i)) && (here.chosen[r] || here.gaps.some(g => g.ranker === r)));
    const why = r => here.gaps.find(g => g.ranker === r)?.reason ?? `${state.tool} cannot compute it in every fold`;
    return out.map(r => `Without a place on ${d}: ${r} (${why(r)})`); });
}
function more(r) {
  const at = [tool(), measure(), BENCH.rankers.indexOf(r)];
  return shownData().map(d => { const here = panel(d), spent = here.costs[r], chosen = fold => here.chosen[r]?.[fold]?.join("; ") ?? "–";
    return `<p><b>${escaped(r)}</b> on ${escaped(d)}${spent ? ` · ${duration(spent.select_seconds)} s to select and train a fold, ${duration(spent.predict_seconds)} s to predict, ${(spent.peak_bytes / 2 ** 20).toFixed(0)} MiB at most` : ""}</p><table><thead><tr><th scope="col" class="name">Fold</th><th scope="col">${escaped(state.measure)}</th><th scope="col" class="name">Chosen on validation</th></tr></thead><tbody>` +
      here.folds.map((fold, f) => `<tr><th scope="row">${escaped(fold)}</th><td>${four(here.by_fold.at(...at, f))}</td><td class="name">${escaped(chosen(fold))}</td></tr>`).join("") + "</tbody></table>"; }).join("");
}

// Figures: rows are put into the specifications that Python wrote. A figure off screen is drawn when it comes near.
const near = new IntersectionObserver(entries => { for (const e of entries) if (e.isIntersecting && e.target.waiting) { e.target.waiting(); e.target.waiting = null; } }, { rootMargin: "600px" });
function draw(id, figure, rows, label, change = () => {}) {
  const place = $(id); place.setAttribute("aria-label", label);
  place.waiting = () => {
    const spec = structuredClone(FIGURES[figure]); spec.data = { values: rows }; change(spec);
    if (spec.encoding?.color?.field === "ranker" && spec.encoding.color.legend !== null) spec.encoding.color.legend = { values: BENCH.rankers.filter(r => rows.some(row => row.ranker === r)) };
    const columns = Math.max(2, Math.floor(place.clientWidth / 135));
    spec.config = { legend: { orient: "bottom", columns, symbolStrokeWidth: 2, offset: 8 }, ...(place.clientWidth < 420 ? { axis: { labelFontSize: 9 } } : {}) };
    place.drawn?.finalize(); embed(place, spec).then(drawn => { place.drawn = drawn; });
  };
  near.unobserve(place); near.observe(place);
}
function drawFigures() {
  const { family } = parts(state.measure), lined = BENCH.families[family].length > 1 ? family : BENCH.families.NDCG?.length > 1 ? "NDCG" : Object.keys(BENCH.families).find(f => BENCH.families[f].length > 1);
  const cutoffs = lined ? BENCH.families[lined] : [], where = state.data || "all data sets", several = BENCH.data.length > 1;
  $("curves-title").textContent = lined ? `${lined} by cutoff, under ${state.tool}` : "By cutoff";
  const overCutoffs = value => cutoffs.flatMap(k => { const m = BENCH.measures.indexOf(`${lined}@${k}`); return present(tool(), m).map(r => ({ ranker: r, cutoff: k, measure: `${lined}@${k}`, ...value(r, m) })); });
  draw("curves", "curves", overCutoffs((r, m) => ({ mean: mean(r, tool(), m) })), `${lined} of every ranker by cutoff under ${state.tool} on ${where}`, s => { s.encoding.y.title = lined; });
  const level = t => { const i = BENCH.tools.indexOf(t); return Math.max(...present(i).map(r => mean(r, i))); };  // tools side by side by what they give the best
  const byLevel = BENCH.tools.filter((t, i) => present(i).length).sort((x, y) => level(x) - level(y));
  const across = BENCH.tools.flatMap((t, i) => { const place = places(i); return present(i).map(r => ({ ranker: r, tool: t, mean: mean(r, i), place: place[r] })); });
  draw("across", state.across, across, `${state.measure} of every ranker under every tool on ${where}`, s => { s.encoding.y.title = state.across === "place" ? "place" : state.measure; s.encoding.x.sort = byLevel; });
  drawAgreement();
  const data = shownData(), spent = r => data.reduce((sum, d) => sum + seconds(d, r), 0) / data.length;
  draw("time", "time", present().filter(r => spent(r) > 0).map(r => ({ ranker: r, seconds: spent(r), mean: mean(r), memory: Math.max(...data.map(d => panel(d).costs[r].peak_bytes)) })), `Seconds against ${state.measure} under ${state.tool} on ${where}`, s => { s.encoding.y.title = state.measure; });
  drawImportance();
  $("winning-card").style.display = several ? "" : "none";
  if (several) draw("winning", "winning", overCutoffs((r, m) => ({ wins: whole().wins.at(tool(), m, BENCH.rankers.indexOf(r)) })), `Winning numbers by cutoff under ${state.tool}`, s => { s.encoding.y.title = `wins by ${lined}`; });
}
function drawAgreement() {
  const here = panel(state.data || BENCH.data[0]), m = measure(), rows = [];
  BENCH.tools.forEach((row, i) => BENCH.tools.forEach((column, j) => { const tau = here.tau_b.at(m, i, j); if (!Number.isNaN(tau)) rows.push({ row, column, tau_b: tau, tau_ap_b: here.tau_ap_b.at(m, i, j) }); }));
  draw("agreement", "agreement", rows, `tau_b between the leaderboards of every two tools by ${state.measure} on ${state.data || BENCH.data[0]}`);
  $("agreement").closest("figure").querySelector("p").textContent = `tau_b between every two leaderboards by ${state.measure} on ${state.data || BENCH.data[0]}; 1 is the same order.`;
}
function drawImportance() {
  const data = state.data || BENCH.data[0], told = BENCH.rankers.filter(r => panel(data).importance[r]), order = ranked().filter(r => told.includes(r));
  $("importance-card").style.display = told.length ? "" : "none";
  if (!told.length) return;
  const chosen = told.includes(state.important) ? state.important : order[0] ?? told[0];
  $("important").innerHTML = told.map(r => option(r, r, chosen)).join("");
  $("importance-words").textContent = `The features that count most on ${data}, by their share over the folds.`;
  draw("importance", "importance", panel(data).importance[chosen].map(([feature, share]) => ({ feature, share })), `The features that count most for ${chosen} on ${data}`);
}

// Which queries decide.
function queryValues(data, ranker) {
  const here = panel(data), way = here.ways.at(measure(), tool()), count = here.queries.length;
  if (way === 255) return null;
  const start = (here.starts[measure()] + way) * BENCH.rankers.length * count + BENCH.rankers.indexOf(ranker) * count;
  return here.values.array.subarray(start, start + count);
}
function drawQueries() {
  const order = ranked(), chosen = present();
  if (order.length < 2) { $("queries").style.display = "none"; return; }
  $("queries").style.display = "";
  const a = chosen.includes(state.a) ? state.a : order.find(r => r !== state.b), b = chosen.includes(state.b) ? state.b : order.find(r => r !== a);
  $("first").innerHTML = order.map(r => option(r, r, a)).join(""); $("second").innerHTML = order.map(r => option(r, r, b)).join("");
  const rows = shownData().flatMap(data => { const [x, y] = [queryValues(data, a), queryValues(data, b)], here = panel(data);
    return x === null ? [] : here.queries.flatMap((query, i) => x[i] === BENCH.absent || y[i] === BENCH.absent ? [] : [{ query, fold: here.folds[here.fold_of[i]], data, a: x[i] / 1e4, b: y[i] / 1e4, difference: (x[i] - y[i]) / 1e4 }]); });
  rows.sort((p, q) => q.difference - p.difference);
  const wins = rows.filter(r => r.difference > 0).length, losses = rows.filter(r => r.difference < 0).length, decisive = Math.abs(mean(a) - mean(b));
  $("query-words").textContent = a === b ? "Choose two different rankers." : `${a} is better on ${wins} queries, ${b} on ${losses}; on ${rows.length - wins - losses} of ${rows.length} they are equal. Their means differ by ${four(decisive)}${rows.length ? `; ${carriers(rows)}` : ""}.`;
  const shown = rows.length > 2000 ? [...rows.slice(0, 1000), ...rows.slice(-1000)] : rows;
  draw("query-figure", "queries", shown.map((r, i) => ({ ...r, at: i, to: i + 1 })), `Difference of ${state.measure} between ${a} and ${b} on every query`, s => { s.encoding.y.title = `A ${MINUS} B`; if (rows.length > 2000) s.encoding.x.title = "the 1000 queries where A gains most, and the 1000 where B does"; });
  const several = state.data === ALL, largest = rows.filter(r => r.difference).sort((p, q) => Math.abs(q.difference) - Math.abs(p.difference)).slice(0, 12);
  $("query-table").tHead.innerHTML = `<tr><th scope="col" class="name">Query</th>${several ? '<th scope="col" class="name">Data set</th>' : ""}<th scope="col" class="name">Fold</th><th scope="col">${escaped(a)}</th><th scope="col">${escaped(b)}</th><th scope="col">A ${MINUS} B</th></tr>`;
  $("query-table").tBodies[0].innerHTML = largest.map(r => `<tr><th scope="row">${escaped(r.query)}</th>${several ? `<td class="name">${escaped(r.data)}</td>` : ""}<td class="name">${escaped(r.fold)}</td><td>${four(r.a)}</td><td>${four(r.b)}</td><td class="${r.difference > 0 ? "up" : "down"}">${signed(r.difference)}</td></tr>`).join("");
}
function carriers(rows) {  // how few queries carry the lead: without them it would be gone
  const sign = rows.reduce((sum, r) => sum + r.difference, 0), total = Math.abs(sign), ahead = sign > 0 ? rows : rows.slice().reverse();
  let sum = 0, count = 0;
  while (count < ahead.length && sum < total) sum += Math.abs(ahead[count++].difference);
  return total ? `the ${count === 1 ? "query that favours" : `${count} queries that favour`} the better one most carr${count === 1 ? "ies" : "y"} as much as the whole difference` : "over all queries together they are level";
}

// Where each number comes from: the chosen tool's convention in words.
function drawConvention() {
  const own = BENCH.conventions_of[state.tool];
  $("convention-words").textContent = `${state.tool} is ${own.title}, version ${own.version} (${own.source}). Every number above follows these choices${state.tool === BENCH.tool ? "" : `; green ones differ from ${BENCH.tool}`}.`;
  $("axes").tHead.innerHTML = '<tr><th scope="col">Choice</th><th scope="col">Value</th><th scope="col">What it decides</th></tr>';
  $("axes").tBodies[0].innerHTML = own.axes.map(([axis, value, meaning, other]) => `<tr class="${other ? "other" : ""}"><th scope="row">${escaped(axis)}</th><td>${escaped(value)}</td><td>${escaped(meaning)}</td></tr>`).join("");
  $("traps").textContent = [...own.variants, ...own.traps].map(t => t[0].toUpperCase() + t.slice(1)).join(". ") + (own.traps.length + own.variants.length ? "." : "");
}
function drawFinding() {
  const m = measure();
  $("finding").textContent = state.data === ALL ? whole().findings[m] : panel(state.data).findings[m];
}

function drawAll() {
  theme.choose(state.theme || null); $("vg-tooltip-element")?.classList.remove("visible");
  drawSwitches(); drawFinding(); drawBoard(); drawFigures(); drawQueries(); drawConvention();
  $("filter").value = state.filter;
  for (const input of document.getElementsByName("across")) input.checked = input.value === state.across;
}
function choose(changes) { Object.assign(state, changes); writeHash(); drawAll(); }

function listen() {
  for (const id of ["data", "tool", "convention"]) $(id).addEventListener("change", e => choose({ [id]: e.target.value }));
  $("family").addEventListener("change", e => choose({ measure: withCutoff(e.target.value) }));
  $("cutoff").addEventListener("change", e => choose({ measure: `${parts(state.measure).family}@${e.target.value}` }));
  $("filter").addEventListener("input", e => { state.filter = e.target.value; writeHash(); drawBoard(); });
  $("switches").addEventListener("submit", e => e.preventDefault());
  $("first").addEventListener("change", e => { Object.assign(state, { a: e.target.value, b: $("second").value }); writeHash(); drawQueries(); });
  $("second").addEventListener("change", e => { Object.assign(state, { a: $("first").value, b: e.target.value }); writeHash(); drawQueries(); });
  $("important").addEventListener("change", e => { state.important = e.target.value; writeHash(); drawImportance(); });
  for (const input of document.getElementsByName("across")) input.addEventListener("change", e => { state.across = e.target.value; writeHash(); drawFigures(); });
  $("theme").addEventListener("click", () => { theme.flip(); state.theme = document.documentElement.dataset.theme; writeHash(); });
  $("board").addEventListener("click", e => {
    const head = e.target.closest("[data-sort]"), row = e.target.closest("[data-open]");
    if (head) {
      const id = head.dataset.sort, same = state.sort === id, first = ["place", "ranker", "seconds", "behind"].includes(id) ? "ascending" : "descending";
      Object.assign(state, { sort: id, order: same ? (state.order === "ascending" ? "descending" : "ascending") : first });
      writeHash(); drawBoard(); document.querySelector(`[data-sort="${CSS.escape(id)}"]`).focus();
    } else if (row) {
      const name = row.dataset.open; opened.has(name) ? opened.delete(name) : opened.add(name);
      drawBoard(); document.querySelector(`[data-open="${CSS.escape(name)}"]`).focus();
    }
  });
  // An address within the page moves the reader, and keeps what was chosen.
  for (const link of document.querySelectorAll('a[href^="#"]')) link.addEventListener("click", e => { e.preventDefault(); const to = $(link.getAttribute("href").slice(1)); to.scrollIntoView(); if (link.classList.contains("skip")) to.focus(); });
  addEventListener("hashchange", () => { readHash(); drawAll(); });
  addEventListener("beforeprint", () => { for (const f of document.querySelectorAll(".figure")) { f.waiting?.(); f.waiting = null; } });
  let width = innerWidth;
  addEventListener("resize", () => { if (Math.abs(innerWidth - width) > 40) { width = innerWidth; drawFigures(); drawQueries(); } });
}

(async () => {
  const records = [...Object.values(BENCH.panels).flatMap(p => Object.values(p)), ...Object.values(BENCH.overall)];
  await Promise.all(records.map(unpackAll));
  readHash(); listen(); drawAll();
  document.body.dataset.ready = "yes";
})().catch(error => { document.body.dataset.error = error; $("finding").textContent = `The numbers could not be shown: ${error.message}`; });
