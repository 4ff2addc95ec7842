// State of the page: the selection, and access to the values. Python computed all of them; JavaScript only subtracts.
const $ = (id) => document.getElementById(id);
const MINUS = "−",
  ALL = ""; // the data set "" means all
const TYPES = {
  float64: Float64Array,
  float32: Float32Array,
  uint16: Uint16Array,
  uint8: Uint8Array,
  int32: Int32Array,
};

// Format with four decimals as Python does: ties (odd multiples of 1/32) round to the even digit.
const four = (v) => {
  if (v === null || v === undefined || Number.isNaN(v)) return "–";
  const tie = Number.isInteger(v * 32) && (v * 32) % 2 !== 0,
    whole = Math.floor(v * 1e4);
  return (tie ? (whole % 2 ? whole + 1 : whole) / 1e4 : v).toFixed(4).replace("-", MINUS);
};
const signed = (v) => (v > 0 ? "+" : "") + four(v);
const escaped = (text) =>
  String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const listed = (words) => (words.length < 2 ? words.join("") : words.slice(0, -1).join(", ") + " and " + words.at(-1));
const sure = (p) => (Number.isNaN(p) ? "–" : p < 1e-4 ? "< 0.0001" : p.toFixed(p < 0.01 ? 4 : 3));
const COLOUR = Object.fromEntries(BENCH.rankers.map((r, i) => [r, charts.colour(i)]));
const NOUN = BENCH.noun;

// Decode arrays and texts: base64 of deflated bytes. Large ones are decoded on first use.
async function decode(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0));
  const answer = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
  if (packed.type === "json") return answer.json();
  const array = new TYPES[packed.type](await answer.arrayBuffer());
  return {
    array,
    shape: packed.shape,
    at(...index) {
      return array[index.reduce((sum, i, axis) => sum * packed.shape[axis] + i, 0)];
    },
  };
}
const DETAIL = [
  "detail_starts",
  "detail_documents",
  "detail_labels",
  "detail_ranks",
  "detail_features",
  "detail_texts",
];
const LAZY = [...DETAIL, "values", "reconcile", "pairs_p", "pairs_effect", "by_fold"];
const isEncoded = (value) => Boolean(value?.data && value.type);
async function decodeAll(record) {
  await Promise.all(
    Object.entries(record).map(async ([name, value]) => {
      if (isEncoded(value) && !LAZY.includes(name)) record[name] = await decode(value);
    }),
  );
}
// Return whether parts of a panel are decoded; otherwise decode them and then call `then`. Until then, the body has the
// attribute data-coming.
let pending = 0;
function ensureDecoded(record, names, then) {
  const packed = names.filter((name) => isEncoded(record[name]));
  if (!packed.length) return true;
  document.body.dataset.coming = ++pending;
  Promise.all(
    packed.map(async (name) => {
      record[name] = await decode(record[name]);
    }),
  )
    .then(then)
    .then(() => {
      if (!--pending) delete document.body.dataset.coming;
    });
  return false;
}

// The selection, stored in the fragment of the URL.
// A reconciliation page selects the tool to explain, so the base tool is not offered.
const EXPLAINS = BENCH.explain !== undefined,
  OFFERED = EXPLAINS ? BENCH.tools.filter((t) => t !== BENCH.tool) : BENCH.tools;
const DEFAULTS = {
  data: BENCH.data[0],
  tool: BENCH.explain ?? BENCH.tool,
  convention: BENCH.conventions.includes("official") ? "official" : BENCH.conventions[0],
  measure: BENCH.measures.includes("NDCG@10") ? "NDCG@10" : BENCH.measures[0],
  sort: "place",
  order: "ascending",
  filter: "",
  a: "",
  b: "",
  important: "",
  across: "place",
  theme: "",
  group: BENCH.groups.length > 1 && BENCH.tools.length > 24 ? BENCH.groups[0].name : "",
  explain: "",
  explained: "",
  part: "",
  query: "",
  find: "",
  qsort: "size",
  pairs: "",
};
const state = { ...DEFAULTS },
  opened = new Set();
const VALID = {
  data: [...BENCH.data, ...(BENCH.data.length > 1 ? [ALL] : [])],
  tool: OFFERED,
  convention: BENCH.conventions,
  measure: BENCH.measures,
  order: ["ascending", "descending"],
  across: ["number", "place"],
  theme: ["light", "dark", ""],
  group: ["", ...BENCH.groups.map((g) => g.name)],
  qsort: ["size", "query", "a", "b", "difference"],
  pairs: ["", "open"],
};
function readHash() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  for (const key of Object.keys(DEFAULTS)) {
    const value = parameters.get(key);
    state[key] = value !== null && (VALID[key]?.includes(value) ?? true) ? value : DEFAULTS[key];
  }
}
function writeHash() {
  const changed = Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key]);
  const hash = new URLSearchParams(changed).toString();
  history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
}

// Looking up.
const tool = () => BENCH.tools.indexOf(state.tool),
  measure = () => BENCH.measures.indexOf(state.measure);
const panel = (data) => BENCH.panels[state.convention][data];
const whole = () => BENCH.overall[state.convention];
const shownData = () => (state.data === ALL ? BENCH.data : [state.data]);
const NUMBER = new Map(BENCH.rankers.map((ranker, i) => [ranker, i]));
const index = (ranker) => NUMBER.get(ranker);
const means = () => (state.data === ALL ? whole() : panel(state.data)).means;
const mean = (ranker, t = tool(), m = measure()) => means().at(t, m, index(ranker));
// Cache of values by data set, training convention, tool and measure.
const memory = new Map();
function cached(what, t, m, make) {
  const key = `${what} ${t} ${m} ${state.convention} ${state.data}`;
  if (!memory.has(key)) memory.set(key, make());
  return memory.get(key);
}
const present = (t = tool(), m = measure()) =>
  cached("present", t, m, () => BENCH.rankers.filter((r) => !Number.isNaN(mean(r, t, m))));
const wins = (ranker, t = tool(), m = measure()) => whole().wins.at(t, m, index(ranker));
// Order by winning number and then mean over all data sets; by mean on one.
const ahead = (t, m) => (x, y) =>
  (state.data === ALL ? wins(y, t, m) - wins(x, t, m) : 0) || mean(y, t, m) - mean(x, t, m) || index(x) - index(y);
const level = (x, y, t, m) =>
  mean(x, t, m) === mean(y, t, m) && (state.data !== ALL || wins(x, t, m) === wins(y, t, m));
const ranked = (t = tool(), m = measure()) => cached("ranked", t, m, () => [...present(t, m)].sort(ahead(t, m)));
// ranker → rank; ties share the better rank
const places = (t = tool(), m = measure()) =>
  cached("places", t, m, () => {
    const order = ranked(t, m),
      ranks = {};
    order.forEach((r, i) => {
      ranks[r] = i && level(order[i - 1], r, t, m) ? ranks[order[i - 1]] : i + 1;
    });
    return ranks;
  });
const seconds = (data, ranker) => panel(data).costs[ranker]?.select_seconds ?? NaN;
const parts = (text) => {
  const [family, cutoff] = text.split("@");
  return { family, cutoff: cutoff ?? "" };
};
const conventionOf = (name) => BENCH.conventions_of[name];
// The tools of the selected group, plus the base tool and the selected tool.
const shownTools = () => {
  const group = BENCH.groups.find((g) => g.name === state.group);
  return BENCH.tools.filter((t) => !group || group.tools.includes(t) || t === state.tool || t === BENCH.tool);
};

// The switches.
const option = (value, text, chosen) =>
  `<option value="${escaped(value)}"${value === chosen ? " selected" : ""}>${escaped(text)}</option>`;
const radio = (group, value, text, chosen) =>
  `<label><input type="radio" name="${group}" value="${escaped(value)}"${value === chosen ? " checked" : ""}><span>${escaped(text)}</span></label>`;
function drawSwitches() {
  const { family, cutoff } = parts(state.measure),
    focused = document.activeElement?.name;
  $("data").innerHTML = VALID.data
    .map((d) => option(d, BENCH.tasks?.[d] ? `${d}: ${BENCH.tasks[d]}` : d || `all ${BENCH.data.length}`, state.data)).join("");
  $("set").hidden = BENCH.data.length < 2;
  const line = (t) =>
    option(
      t,
      t === BENCH.tool
        ? `${t} (${conventionOf(t).title})`
        : [t, [conventionOf(t).title === t ? "" : conventionOf(t).title, conventionOf(t).version].filter(Boolean).join(" ")].join(" · "),
      state.tool,
    );
  $("tool").innerHTML =
    BENCH.groups.length < 2
      ? OFFERED.map(line).join("")
      : BENCH.groups
          .map(
            (g) =>
              `<optgroup label="${escaped(g.name)}: ${escaped(g.about)}">${OFFERED.filter((t) => g.tools.includes(t))
                .map(line)
                .join("")}</optgroup>`,
          )
          .join("");
  $("convention").innerHTML = BENCH.conventions.map((c) => option(c, c, state.convention)).join("");
  $("trained").hidden = BENCH.conventions.length < 2;
  $("family").innerHTML = Object.keys(BENCH.families)
    .map((f) => radio("family", f, f, family))
    .join("");
  $("cutoff").innerHTML = BENCH.families[family].map((k) => radio("cutoff", String(k), `${k}`, cutoff)).join("");
  $("cutoffs").hidden = BENCH.families[family].length < 2;
  $("families").hidden = BENCH.measures.length < 2;
  $("about-tool").textContent = about(state.tool);
  $("chosen").firstElementChild.textContent = [
    ...(BENCH.data.length > 1 ? [state.data || `all ${BENCH.data.length} data sets`] : []),
    state.tool,
    state.measure,
  ].join(" · ");
  if (focused === "family" || focused === "cutoff") document.querySelector(`input[name=${focused}]:checked`)?.focus();
  if ($("group")) {
    $("group-label").hidden = BENCH.groups.length < 2;
    $("group").innerHTML =
      option("", `all ${BENCH.tools.length}`, state.group) +
      BENCH.groups.map((g) => option(g.name, `${g.name} (${g.tools.length})`, state.group)).join("");
  }
}
// A tool in one line: title, version, and the axes on which it differs from the base tool.
function about(name) {
  const { title, version, axes } = conventionOf(name),
    others = axes.filter((a) => a[3]).map((a) => `${a[0]} ${a[1]}`);
  return `${name}: ${title}${version && `, version ${version}`}. ${name === BENCH.tool ? "Other tools are compared with it." : others.length ? `Differs on ${others.join(", ")}.` : `Same convention as ${BENCH.tool}.`}`;
}
function withCutoff(family) {
  const cutoffs = BENCH.families[family],
    now = Number(parts(state.measure).cutoff || parts(DEFAULTS.measure).cutoff);
  return cutoffs.length ? `${family}@${cutoffs.includes(now) ? now : cutoffs.at(-1)}` : family;
}
