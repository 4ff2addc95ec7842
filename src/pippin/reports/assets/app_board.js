// The leaderboard: each column has a heading, a sort key and a cell.
const behindBest = (r) => state.data !== ALL && panel(state.data).worse.at(tool(), measure(), index(r)) === 1;
// The interval as text below the value, where a phone has no space for the bar.
function bounds(r) {
  if (state.data === ALL) return "";
  const [low, high] = ["low", "high"].map((end) => panel(state.data)[end].at(tool(), measure(), index(r)));
  return Number.isNaN(low) ? "" : `<small class="narrow">${low.toFixed(3)}–${high.toFixed(3)}</small>`;
}
const duration = (s) => (Number.isNaN(s) ? "–" : s >= 100 ? s.toFixed(0) : s >= 1 ? s.toFixed(1) : s.toFixed(2));
function columns() {
  const first = BENCH.tools.indexOf(BENCH.tool),
    now = places(),
    before = places(first),
    best = ranked()[0];
  const place = { id: "place", head: "#", key: (r) => now[r] ?? Infinity, cell: (r) => now[r] ?? "–", kind: "dim" };
  const name = {
    id: "ranker",
    head: NOUN[0].toUpperCase() + NOUN.slice(1),
    key: (r) => r,
    row: true,
    cell: (r) =>
      opens(r)
        ? `<button type="button" class="open" aria-expanded="${opened.has(r)}" data-open="${escaped(r)}"><span><i class="swatch" style="background:${COLOUR[r]}"></i>${escaped(r)}</span></button>`
        : `<i class="swatch" style="background:${COLOUR[r]}"></i>${escaped(r)}`,
  };
  const value = {
    id: "mean",
    head: state.data === ALL ? `Mean ${state.measure}` : state.measure,
    key: (r) => mean(r),
    exact: (r) => mean(r),
    cell: (r) => four(mean(r)) + (behindBest(r) ? '<span class="narrow">†</span>' : "") + bounds(r),
    kind: "value",
  };
  const rankChange = {
    id: "moved",
    head: `Rank vs ${BENCH.tool}`,
    key: (r) => (before[r] ?? NaN) - (now[r] ?? NaN),
    kind: "wide-only",
    cell: (r) => {
      const by = (before[r] ?? NaN) - (now[r] ?? NaN);
      return Number.isNaN(by)
        ? "–"
        : by === 0
          ? '<span class="dim">=</span>'
          : by > 0
            ? `<span class="up" aria-label="up ${by}" role="img">▲ ${by}</span>`
            : `<span class="down" aria-label="down ${-by}" role="img">▼ ${-by}</span>`;
    },
  };
  const changeColumns =
    state.tool === BENCH.tool || BENCH.rankers.every((r) => (before[r] ?? 0) === (now[r] ?? 0)) ? [] : [rankChange]; // omit a column without changes
  if (state.data === ALL) {
    const of = (r) => whole().pairs.at(tool(), measure(), index(r));
    const sets = BENCH.data.map((d) => {
      const meanOn = (r) => panel(d).means.at(tool(), measure(), index(r));
      return { id: `on ${d}`, head: d, kind: "wide-only", key: meanOn, exact: meanOn, cell: (r) => four(meanOn(r)) };
    });
    return [
      place,
      name,
      {
        id: "wins",
        head: "Wins",
        key: (r) => wins(r),
        cell: (r) => `${wins(r)} <span class="dim">of ${of(r)}</span>`,
        kind: "value",
      },
      { ...value, kind: "" },
      ...sets,
      ...changeColumns,
    ];
  }
  const here = panel(state.data),
    at = (r) => [tool(), measure(), index(r)],
    scale = bars();
  const interval = {
    id: "low",
    head: "95% interval",
    scale: scale.axis,
    key: (r) => here.low.at(...at(r)),
    cell: scale.cell,
    kind: "bar",
    exact: (r) => `${four(here.low.at(...at(r)))} ${four(here.high.at(...at(r)))}`,
  };
  const behind = {
    id: "behind",
    head: "Difference to best",
    key: (r) => mean(best) - mean(r),
    kind: "wide-only",
    cell: (r) => {
      if (r === best) return '<span class="dim">best</span>';
      const p = here.p.at(...at(r));
      return `${four(mean(r) - mean(best))}<span title="p = ${sure(p)}, corrected">${behindBest(r) ? " †" : ' <span class="dim">≈</span>'}</span>`;
    },
  };
  const trainingTime = {
    id: "seconds",
    head: "Seconds",
    key: (r) => seconds(state.data, r),
    kind: "wide-only dim",
    cell: (r) => duration(seconds(state.data, r)),
  };
  const publishedRows = here.published[state.measure] ?? [],
    publishedOf = (r) => publishedRows.filter((row) => row[0] === r);
  const published = {
    id: "published",
    head: "Published",
    key: (r) => publishedOf(r)[0]?.[2] ?? NaN,
    kind: "wide-only",
    cell: (r) =>
      publishedOf(r)
        .map(
          ([, name, v], i, all) =>
            `<span title="${escaped(name)}">${all.length > 1 ? `<small class="dim">${escaped(name)}</small> ` : ""}${four(v)}</span> <span class="dim">${signed(mean(r) - v)}</span>`,
        )
        .join("<br>") || "–",
  };
  const intervals = present().some((r) => !Number.isNaN(here.low.at(...at(r)))),
    timed = present().some((r) => seconds(state.data, r) > 0);
  return [
    place,
    ...(sharedRanks().length ? [grouping()] : []),
    name,
    value,
    ...(intervals ? [interval] : []),
    behind,
    ...changeColumns,
    ...(publishedRows.length ? [published] : []),
    ...(timed ? [trainingTime] : []),
  ];
}
const opens = (r) => panel(shownData()[0]).folds.length > 0;
// One scale for all rows, from the lowest bound to the highest, labelled in the heading.
function bars() {
  const here = panel(state.data),
    at = (r) => [tool(), measure(), index(r)],
    all = present(),
    best = ranked()[0],
    withoutNaN = (values) => values.filter((v) => !Number.isNaN(v));
  const low = Math.min(...withoutNaN(all.map((r) => here.low.at(...at(r))))),
    high = Math.max(...withoutNaN(all.map((r) => here.high.at(...at(r)))));
  const x = (v) => (4 + 92 * (high > low ? (v - low) / (high - low) : 0.5)).toFixed(2) + "%",
    marks = [low, (low + high) / 2, high];
  const axis = Number.isFinite(low)
    ? `<svg aria-hidden="true">${marks.map((v, i) => `<line x1="${x(v)}" x2="${x(v)}" y1="12" y2="17"/><text x="${x(v)}" y="9" text-anchor="${["start", "middle", "end"][i]}">${v.toFixed(3)}</text>`).join("")}</svg>`
    : "";
  const cell = (r) => {
    const [l, m, h] = [here.low.at(...at(r)), mean(r), here.high.at(...at(r))];
    if (Number.isNaN(l)) return '<span class="dim">–</span>';
    return `<svg role="img" aria-label="from ${four(l)} to ${four(h)}"><title>${four(l)} … ${four(h)}</title><line class="track" x1="0" x2="100%" y1="50%" y2="50%"/><line class="lead" x1="${x(mean(best))}" x2="${x(mean(best))}" y1="0" y2="100%"/><line class="span" x1="${x(l)}" x2="${x(h)}" y1="50%" y2="50%"/><circle class="dot" cx="${x(m)}" cy="50%" r="4.5"/></svg>`;
  };
  return { axis, cell };
}
// Ranges of ranks within which no pair differs significantly.
const groups = () => (state.data === ALL ? [] : panel(state.data).groups[tool()][measure()]),
  sharedRanks = () => groups().filter(([a, b]) => b > a);
function grouping() {
  const ranges = sharedRanks(),
    order = ranked(),
    sorted = state.sort === "place" && state.order === "ascending" && !state.filter;
  return {
    id: "group",
    head: "",
    kind: "group",
    silent: true,
    cell: (r) => {
      const at = order.indexOf(r) + 1;
      if (!sorted) return "";
      return `<div style="--lanes:${ranges.length}" aria-hidden="true">${ranges.map(([a, b], i) => (at < a || at > b ? "" : `<i class="${at === a ? "from " : ""}${at === b ? "to" : ""}" style="--lane-at:${i}"></i>`)).join("")}</div>`;
    },
  };
}
function groupWords() {
  const order = ranked(),
    ranges = groups(),
    best = order[0];
  if (state.data === ALL || order.length < 2 || !ranges.length) return "";
  const range = ([a, b]) => (a === b ? `${a}` : `${a}–${b}`),
    shared = ranges.filter(([a, b]) => b > a);
  if (!shared.length) return "All ranks differ significantly from each other.";
  if (shared.length === 1 && shared[0][1] === order.length && shared[0][0] === 1)
    return `<b>No pair of ${NOUN}s differs significantly</b> after correction for multiple tests.`;
  const top = ranges.find(([a]) => a === 1),
    topSentence =
      top[1] > 1
        ? `<b>Ranks ${range(top)} do not differ significantly</b>`
        : `<b>${escaped(best)} is significantly better than all others</b>`;
  const others = shared.filter((g) => g !== top);
  const rest = `ranks ${listed(others.slice(0, 6).map(range))}${others.length > 6 ? " and others" : ""}`,
    more = top[1] > 1 ? `; neither do ${rest}` : `; ${rest} do not differ significantly`;
  return `${topSentence}${others.length ? more : ""}. Lines next to the ranks mark these ranges.`;
}
function sorter(column) {
  const down = state.order === "descending" ? -1 : 1,
    now = places();
  return (x, y) => {
    const [a, b] = [column.key(x), column.key(y)];
    if (typeof a === "string") return down * a.localeCompare(b);
    return Number.isNaN(a) - Number.isNaN(b) || down * (a - b) || (now[x] ?? Infinity) - (now[y] ?? Infinity);
  };
}
function drawBoard() {
  const all = columns(),
    sorted = all.find((c) => c.id === state.sort) ?? all[0],
    best = ranked()[0];
  $("board").tHead.innerHTML =
    "<tr>" +
    all
      .map((c) =>
        c.silent
          ? '<td class="group"></td>'
          : `<th scope="col" class="${c.kind ?? ""}${c.row ? " name" : ""}"${c === sorted ? ` aria-sort="${state.order}"` : ""}><button type="button" data-sort="${escaped(c.id)}">${escaped(c.head)}</button>${c.scale ?? ""}</th>`,
      )
      .join("") +
    "</tr>";
  const searchWords = state.filter
    .trim()
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
  const rows = present()
    .filter((r) => !searchWords.length || searchWords.some((w) => r.toLowerCase().includes(w)))
    .sort(sorter(sorted));
  const cell = (c, r) =>
    c.row
      ? `<th scope="row" data-id="${c.id}">${c.cell(r)}</th>`
      : `<td class="${c.kind ?? ""}" data-id="${escaped(c.id)}"${c.exact ? ` data-value="${c.exact(r)}"` : ""}>${c.cell(r)}</td>`;
  $("board").tBodies[0].innerHTML =
    rows
      .map(
        (r) =>
          `<tr data-ranker="${escaped(r)}" class="${r === best ? "leader" : behindBest(r) ? "behind" : ""}">${all.map((c) => cell(c, r)).join("")}</tr>` +
          (opened.has(r) ? `<tr class="more"><td colspan="${all.length}">${more(r)}</td></tr>` : ""),
      )
      .join("") ||
    `<tr><td colspan="${all.length}" class="name">No ${NOUN} matches “${escaped(state.filter)}”. <button type="button" id="clear-filter" class="open">Show all ${present().length}</button></td></tr>`;
  const where = state.data || "all data sets",
    trained = BENCH.conventions.length > 1 ? `, trained under ${state.convention}` : "",
    folds = panel(shownData()[0]).folds.length;
  $("board-caption").textContent =
    `${state.measure} of ${present().length} ${NOUN}s on ${where} under ${state.tool}${trained}`;
  $("groups-words").innerHTML = groupWords();
  $("board-words").textContent =
    state.data === ALL
      ? `Ordered by winning number under ${state.tool}${trained}: the comparisons that a ${NOUN} wins over all data sets; ties by mean.`
      : `${state.measure} on ${where} under ${state.tool}${trained}: mean over ${folds ? `${folds} folds` : `${panel(state.data).queries.length} queries`} with 95% interval over queries.${folds ? " Open a row to see its folds." : ""}`;
  $("board-notes").textContent = [
    ...(state.data === ALL
      ? []
      : [
          "† significantly worse than the best after correction over all pairs; ≈ not significantly",
          ...(panel(state.data).published[state.measure]
            ? ["Published: the published value, and the difference of our value to it"]
            : []),
        ]),
    ...gaps(),
    ...BENCH.notes,
  ]
    .map((note) => note + ".")
    .join(" ");
  $("pairs-box").hidden = state.data === ALL || present().length < 2;
  drawPairs();
}
function gaps() {
  return shownData().flatMap((d) => {
    const here = panel(d),
      out = BENCH.rankers.filter(
        (r, i) =>
          Number.isNaN(here.means.at(tool(), measure(), i)) &&
          (here.chosen[r] || here.gaps.some((g) => g.ranker === r)),
      );
    const why = (r) => here.gaps.find((g) => g.ranker === r)?.reason ?? `${state.tool} does not define it in every fold`;
    return out.map((r) => `Not ranked on ${d}: ${r} (${why(r)})`);
  });
}
function more(r) {
  const at = [tool(), measure(), index(r)];
  return shownData()
    .map((d) => {
      const here = panel(d),
        cost = here.costs[r],
        chosen = (fold) => here.chosen[r]?.[fold]?.join("; ") ?? "–";
      if (!ensureDecoded(here, ["by_fold"], drawBoard)) return "";
      return (
        `<p><b>${escaped(r)}</b> on ${escaped(d)}${cost ? ` · ${duration(cost.select_seconds)} s per fold to select and train, ${duration(cost.predict_seconds)} s to predict, ${(cost.peak_bytes / 2 ** 20).toFixed(0)} MiB peak memory` : ""}</p><table><thead><tr><th scope="col" class="name">Fold</th><th scope="col">${escaped(state.measure)}</th><th scope="col" class="name">Parameters selected on validation</th></tr></thead><tbody>` +
        here.folds
          .map(
            (fold, f) =>
              `<tr><th scope="row">${escaped(fold)}</th><td>${here.by_fold.at(...at, f) === BENCH.missing_code ? "–" : four(here.by_fold.at(...at, f) / 1e4)}</td><td class="name">${escaped(chosen(fold))}</td></tr>`,
          )
          .join("") +
        "</tbody></table>"
      );
    })
    .join("");
}

// All pairs: p after correction and effect size, row versus column.
function pairOf(x, y) {
  const here = panel(state.data),
    n = BENCH.rankers.length,
    [i, j] = [index(x), index(y)].sort((a, b) => a - b),
    number = here.pair_tables.at(measure(), tool()),
    at = i * n - (i * (i + 1)) / 2 + j - i - 1;
  if (number === BENCH.missing_code) return { p: NaN, effect: NaN };
  return { p: here.pairs_p.at(number, at), effect: here.pairs_effect.at(number, at) * (index(x) < index(y) ? 1 : -1) };
}
function drawPairs() {
  if (!$("pairs-box")?.open || state.data === ALL || $("pairs-box").hidden) return;
  if (!ensureDecoded(panel(state.data), ["pairs_p", "pairs_effect"], drawPairs)) return;
  const order = ranked(),
    alpha = BENCH.alpha,
    [a, b] = couple();
  const cells = order.flatMap((x) =>
    order
      .filter((y) => y !== x)
      .map((y) => {
        const { p, effect } = pairOf(x, y),
          difference = mean(x) - mean(y);
        return {
          row: x,
          column: y,
          chosen: x === a && y === b,
          value: Math.sign(difference) * (p <= alpha ? 1 : p <= 0.2 ? 0.3 : 0.1),
          difference,
          p,
          effect,
          words: Number.isNaN(p) ? "" : p < 0.001 ? "<.001" : p >= 0.9995 ? "1" : p.toFixed(3).slice(1),
          tip: `${x} ${MINUS} ${y} = ${signed(difference)}\np ${sure(p)}, corrected; effect ${effect.toFixed(2)}`,
        };
      }),
  );
  draw("pairs", "matrix", () => cells, {
    rows: order,
    shade: charts.shades.ahead,
    size: 44,
    label: `Corrected p of every pair of ${NOUN}s by ${state.measure} under ${state.tool} on ${state.data}`,
  });
  if (!a || !b || a === b) {
    $("pair-card").textContent = `Choose two different ${NOUN}s.`;
    return;
  }
  const { p, effect } = pairOf(a, b),
    d = mean(a) - mean(b),
    size =
      Math.abs(effect) < 0.2
        ? "very small"
        : Math.abs(effect) < 0.5
          ? "small"
          : Math.abs(effect) < 0.8
            ? "medium"
            : "large";
  $("pair-card").innerHTML =
    `<h3>${escaped(a)} against ${escaped(b)}</h3><p>The difference of <b>${four(Math.abs(d))}</b> in favour of ${escaped(d >= 0 ? a : b)} is ${p <= alpha ? "" : "not "}significant (p ${sure(p)} after correction over all pairs). The effect is ${size} (Cohen's d ${effect.toFixed(2).replace("-", MINUS)}, over queries).</p><p><a href="#queries">Compare them by query</a></p>`;
}
