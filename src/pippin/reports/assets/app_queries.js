// Queries: differences between two systems, and their ranked lists.
function queryValues(data, ranker) {
  const here = panel(data),
    number = here.value_tables.at(measure(), tool()),
    count = here.queries.length;
  if (number === BENCH.not_computed) return null;
  const start = (here.first_tables[measure()] + number) * BENCH.rankers.length * count + index(ranker) * count;
  return here.values.array.subarray(start, start + count);
}
function couple() {
  const order = ranked(),
    chosen = present();
  const a = chosen.includes(state.a) ? state.a : order.find((r) => r !== state.b),
    b = chosen.includes(state.b) && state.b !== a ? state.b : order.find((r) => r !== a);
  return [a, b];
}
const textOf = (data, i) => panel(data).query_texts?.[i] ?? "";
function queryRows(a, b) {
  return shownData().flatMap((data) => {
    const [x, y] = [queryValues(data, a), queryValues(data, b)],
      here = panel(data);
    return x === null
      ? []
      : here.queries.flatMap((query, i) =>
          x[i] === BENCH.missing_code || y[i] === BENCH.missing_code
            ? []
            : [
                {
                  query,
                  words: textOf(data, i),
                  fold: here.folds[here.fold_of[i]] ?? "",
                  data,
                  i,
                  key: `${data}/${i}`,
                  a: x[i] / 1e4,
                  b: y[i] / 1e4,
                  difference: (x[i] - y[i]) / 1e4,
                },
              ],
        );
  });
}
function drawQueries() {
  if (!$("queries")) return;
  const order = ranked(),
    [a, b] = couple();
  $("queries").hidden = order.length < 2;
  if (order.length < 2) return;
  $("first").innerHTML = order.map((r) => option(r, r, a)).join("");
  $("second").innerHTML = order.map((r) => option(r, r, b)).join("");
  const ready = shownData().map((d) => ensureDecoded(panel(d), ["values"], drawQueries));
  if (!ready.every(Boolean)) return;
  const rows = queryRows(a, b).sort((p, q) => q.difference - p.difference);
  const better = rows.filter((r) => r.difference > 0).length,
    worse = rows.filter((r) => r.difference < 0).length;
  $("query-words").textContent =
    a === b
      ? `Choose two different ${NOUN}s.`
      : `${a} is better on ${better} queries, ${b} on ${worse}; on ${rows.length - better - worse} of ${rows.length} they are equal. ${lead(rows, a, b)}`;
  $("query-hint").hidden = !rows.some(hasDetail);
  const drawnRows = rows.length > 2000 ? [...rows.slice(0, 1000), ...rows.slice(-1000)] : rows;
  draw(
    "query-figure",
    "differences",
    () =>
      drawnRows.map((r) => ({
        query: r.query,
        a: r.a,
        b: r.b,
        difference: r.difference,
        key: r.key,
        tip: `${r.query}${r.words ? ` “${r.words}”` : ""}\n${a} ${four(r.a)} · ${b} ${four(r.b)} · ${signed(r.difference)}`,
      })),
    {
      chosen: state.query,
      yTitle: `A ${MINUS} B`,
      xTitle:
        rows.length > 2000
          ? "the 1,000 queries most in favour of A, and of B"
          : "queries, from most in favour of A to most in favour of B",
      label: `Difference of ${state.measure} between ${a} and ${b} on every query`,
    },
  );
  drawQueryTable(rows, a, b);
  drawDetail(rows, a, b);
}
const QUERY_SORTS = {
  size: (p, q) => Math.abs(q.difference) - Math.abs(p.difference),
  difference: (p, q) => q.difference - p.difference,
  a: (p, q) => q.a - p.a,
  b: (p, q) => q.b - p.b,
  query: (p, q) => p.query.localeCompare(q.query, undefined, { numeric: true }),
};
const SHOWN_QUERIES = 200;
function drawQueryTable(rows, a, b) {
  const several = state.data === ALL,
    hasTexts = rows.some((r) => r.words),
    hasFolds = rows.some((r) => r.fold),
    searchWords = state.find.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const matches = rows
      .filter((r) => searchWords.every((w) => `${r.query} ${r.words}`.toLowerCase().includes(w)))
      .sort(QUERY_SORTS[state.qsort]),
    visible = matches.slice(0, SHOWN_QUERIES);
  const head = (id, words, kind = "") =>
    `<th scope="col" class="${kind}"${state.qsort === id ? ` aria-sort="${id === "query" ? "ascending" : "descending"}"` : ""}><button type="button" data-qsort="${id}">${escaped(words)}</button></th>`;
  $("query-table").tHead.innerHTML =
    `<tr>${head("query", "Query", "name")}${hasTexts ? '<th scope="col" class="name">Text</th>' : ""}${several ? '<th scope="col" class="name wide-only">Data set</th>' : ""}${hasFolds ? '<th scope="col" class="name wide-only">Fold</th>' : ""}${head("a", a, "wide-only")}${head("b", b, "wide-only")}${head("difference", `A ${MINUS} B`)}${head("size", `|A ${MINUS} B|`, "wide-only")}</tr>`;
  $("query-table").tBodies[0].innerHTML =
    visible
      .map(
        (r) =>
          `<tr data-key="${escaped(r.key)}"${r.key === state.query ? ' class="chosen"' : ""}><th scope="row">${hasDetail(r) ? `<button type="button" class="open" data-show="${escaped(r.key)}" aria-expanded="${r.key === state.query}">${escaped(r.query)}</button>` : escaped(r.query)}</th>${hasTexts ? `<td class="text">${escaped(r.words)}</td>` : ""}${several ? `<td class="name wide-only">${escaped(r.data)}</td>` : ""}${hasFolds ? `<td class="name wide-only">${escaped(r.fold)}</td>` : ""}<td class="wide-only">${four(r.a)}</td><td class="wide-only">${four(r.b)}</td><td class="${r.difference > 0 ? "up" : r.difference < 0 ? "down" : "dim"}">${signed(r.difference)}</td><td class="wide-only dim">${four(Math.abs(r.difference))}</td></tr>`,
      )
      .join("") || `<tr><td class="name" colspan="8">No query matches “${escaped(state.find)}”.</td></tr>`;
  $("query-note").textContent =
    `${matches.length > SHOWN_QUERIES ? `Showing ${SHOWN_QUERIES} of ${matches.length} queries; search to find others. ` : ""}${rows.some(hasDetail) ? "" : BENCH.without_lists}`;
}
// The difference of the means, and the smallest number of queries without which it disappears.
function lead(rows, a, b) {
  const [first, second] = mean(a) >= mean(b) ? [a, b] : [b, a],
    difference = four(mean(first) - mean(second)),
    total = rows.reduce((sum, r) => sum + r.difference, 0) * (first === a ? 1 : -1);
  if (!(total > 0)) return difference === four(0) ? "Their means are equal." : `Their means differ by ${difference}.`;
  const gains = rows.map((r) => (first === a ? r.difference : -r.difference)).sort((x, y) => y - x);
  let sum = 0,
    count = 0;
  while (count < gains.length && sum < total) sum += gains[count++];
  return `The mean of ${first} is higher by ${difference}; without the ${count === 1 ? "query" : `${count} queries`} most in its favour, it would not be.`;
}

// The two lists of a query side by side.
const hasDetail = (r) => Boolean(panel(r.data).detail_ranks);
const SHOWN_RANKS = 10,
  called = (feature) => (/^\d+$/.test(feature) ? `feature ${feature}` : feature);
function drawDetail(rows, a, b) {
  const box = $("query-detail"),
    row = rows.find((r) => r.key === state.query);
  box.hidden = !row || !hasDetail(row) || a === b;
  if (box.hidden || !ensureDecoded(panel(row.data), DETAIL, drawQueries)) return;
  const lists = [listOf(row, a), listOf(row, b)];
  box.innerHTML = `<div class="head"><h3>${escaped(row.query)}${row.words ? `: “${escaped(row.words)}”` : ""}</h3><span class="dim">${escaped(state.measure)} ${four(row.a)} against ${four(row.b)}, ${signed(row.difference)}</span></div><div class="lists"><div><h4><b class="a">A</b> ${escaped(a)}</h4><ol>${lists[0].map((d, i) => card(d, i + 1, b)).join("")}</ol></div><div class="between"><svg aria-hidden="true"></svg></div><div><h4><b class="b">B</b> ${escaped(b)}</h4><ol>${lists[1].map((d, i) => card(d, i + 1, a)).join("")}</ol></div></div>${why(row, a, b, lists)}<p class="note">Ranked by score; ties in the order of the file. ${BENCH.panels[state.convention][row.data].detail_texts.titles ? "" : "Bars show the most important features, scaled from the minimum to the maximum of the list. "}The badge shows the label.</p>`;
  connect(box.querySelector(".lists"), lists);
}
function listOf(row, ranker) {
  const here = panel(row.data),
    [start, end] = [here.detail_starts.array[row.i], here.detail_starts.array[row.i + 1]],
    documents = [];
  for (let n = start; n < end; n++) {
    const rank = here.detail_ranks.at(index(ranker), n);
    if (rank && rank <= SHOWN_RANKS) documents[rank - 1] = n;
  }
  return [...documents].map((n) => (n === undefined ? null : documentAt(row.data, n)));
}
function documentAt(data, n) {
  const here = panel(data),
    texts = here.detail_texts,
    at = here.detail_documents.array[n],
    width = texts.features.length;
  return {
    n,
    id: texts.ids[at],
    title: texts.titles?.[at] || "",
    snippet: texts.snippets?.[at] || "",
    label: here.detail_labels.array[n],
    rank: (r) => here.detail_ranks.at(index(r), n),
    features: width ? [...here.detail_features.array.subarray(n * width, (n + 1) * width)].map((v) => v / 250) : [],
  };
}
function card(d, rank, other) {
  if (!d) return "";
  const there = d.rank(other),
    titled = d.title || d.snippet;
  return `<li class="doc${d.label > 0 ? " relevant" : ""}" data-n="${d.n}"><span class="rank">${rank}</span><span class="what">${escaped(d.title || d.id)}</span><span class="label${d.label > 0 ? " good" : ""}" title="label ${d.label}; rank ${there || "none"} in the other list">${d.label}<span class="hidden"> label; rank ${there || "none"} in the other list</span></span>${titled ? `<p>${escaped(d.snippet || d.id)}</p>` : d.features.length ? `<p class="facets" role="img" aria-label="${escaped(panelFeatures(d))}">${d.features.map((v) => `<i style="height:${Math.round(100 * v)}%"></i>`).join("")}</p>` : ""}</li>`;
}
const panelFeatures = (d) =>
  d.features
    .map(
      (v, i) => `${BENCH.panels[state.convention][state.query.split("/")[0]].detail_texts.features[i]} ${v.toFixed(2)}`,
    )
    .join(", ");
// A line between the ranks of a document in both lists, or a stub with its rank if the other list lacks it.
function connect(box, lists) {
  const svg = box.querySelector(".between svg"),
    frame = svg.getBoundingClientRect(),
    wide = frame.width,
    [a, b] = couple(),
    ranks = [];
  const middle = (n) =>
    [...box.querySelectorAll(`[data-n="${n}"]`)].map((e) => {
      const place = e.getBoundingClientRect();
      return place.top + place.height / 2 - frame.top;
    });
  const stroke = (d) => (d.label > 0 ? "var(--mark)" : "var(--dim)");
  const stub = (d, from, side, other) => {
    const [y] = middle(d.n);
    svg.append(
      charts.make("path", { d: `M${from},${y}h${side * wide * 0.28}`, stroke: stroke(d), "stroke-dasharray": "3 3" }),
    );
    ranks.push(
      charts.make(
        "text",
        {
          x: from + side * wide * 0.3,
          y: y + 3.5,
          "text-anchor": side > 0 ? "start" : "end",
          "font-size": 10,
          fill: "var(--dim)",
        },
        `${d.rank(other) || ""}`,
      ),
    );
  };
  const [first, second] = lists.map((list) => list.filter(Boolean));
  for (const d of first) {
    if (!second.some((o) => o.n === d.n)) {
      stub(d, 0, 1, b);
      continue;
    }
    const [from, to] = middle(d.n);
    svg.append(
      charts.make("path", {
        d: `M0,${from}C${wide / 2},${from} ${wide / 2},${to} ${wide},${to}`,
        stroke: stroke(d),
        "stroke-width": d.label > 0 ? 2.4 : 1.2,
      }),
    );
  }
  for (const d of second) if (!first.some((o) => o.n === d.n)) stub(d, wide, -1, a);
  svg.append(...ranks); // above the lines
}

// Why: the documents whose rank difference matters most, and the features that each ranker weights.
function why(row, a, b, lists) {
  const here = panel(row.data),
    names = here.detail_texts.features,
    shares = (r) => Object.fromEntries(here.importance[r] ?? []),
    [x, y] = [shares(a), shares(b)];
  const all = [...new Map([...lists[0], ...lists[1]].filter(Boolean).map((d) => [d.n, d])).values()],
    last = 1 + Math.max(...all.flatMap((d) => [d.rank(a), d.rank(b)]));
  const worth = (rank) => 1 / Math.log2(1 + (rank || last)),
    effect = (d) => (worth(d.rank(a)) - worth(d.rank(b))) * (d.label > 0 ? d.label : -0.1),
    gain = (d) => Math.abs(effect(d));
  const most = [...all]
    .filter((d) => d.rank(a) !== d.rank(b))
    .sort((p, q) => gain(q) - gain(p))
    .slice(0, 3);
  if (!most.length) return '<p class="why">Both rank the same documents at the same ranks.</p>';
  const features = names
    .map((name, i) => ({ name, i, x: x[name] ?? 0, y: y[name] ?? 0 }))
    .filter((f) => f.x || f.y)
    .sort((p, q) => Math.max(q.x, q.y) - Math.max(p.x, p.y))
    .slice(0, 6);
  const sentences = most.map((d) => {
    const better = effect(d) > 0 ? a : b,
      worse = better === a ? b : a;
    return `<li><b>${escaped(d.title || d.id)}</b> (label ${d.label}): rank ${d.rank(a) || "none"} for ${escaped(a)}, ${d.rank(b) || "none"} for ${escaped(b)}${gain(d) > 0.02 ? `, in favour of ${escaped(better)}` : ""}.${reason(d, features, better, worse, x, y, a)}</li>`;
  });
  const meter = (v) => `<span class="meter"><i style="width:${Math.round(100 * v)}%"></i></span>${v.toFixed(2)}`,
    share = (v) => (v ? `${(100 * v).toFixed(0)}%` : '<span class="dim">–</span>');
  const table = features.length
    ? `<div class="scroll" tabindex="0" role="region" aria-label="Features of these documents"><table><caption class="hidden">The most important features and their values in these documents</caption><thead><tr><th scope="col" class="name">Feature</th><th scope="col">importance for ${escaped(a)}</th><th scope="col">for ${escaped(b)}</th>${most.map((d) => `<th scope="col">${escaped((d.title || d.id).slice(0, 26))}</th>`).join("")}</tr></thead><tbody>${features.map((f) => `<tr><th scope="row">${escaped(called(f.name))}</th><td>${share(f.x)}</td><td>${share(f.y)}</td>${most.map((d) => `<td>${meter(d.features[f.i])}</td>`).join("")}</tr>`).join("")}</tbody></table></div><p class="note">Values are scaled from the minimum (0) to the maximum (1) of the query's list.</p>`
    : "";
  return `<div class="why"><h3>Why</h3><ul>${sentences.join("")}</ul>${table}</div>`;
}
function reason(d, features, better, worse, x, y, a) {
  const [preferred, other] = better === a ? [x, y] : [y, x],
    sign = d.label > 0 ? 1 : -1;
  const best = [...features]
    .map((f) => ({ ...f, pull: ((preferred[f.name] ?? 0) - (other[f.name] ?? 0)) * (d.features[f.i] - 0.5) * sign }))
    .sort((p, q) => q.pull - p.pull)[0];
  if (!best || best.pull <= 0.005) return "";
  const first = preferred[best.name] ?? 0,
    second = other[best.name] ?? 0,
    [who, more, less] = first >= second ? [better, first, second] : [worse, second, first];
  return ` ${escaped(who)} weights ${escaped(called(best.name))} more (${(100 * more).toFixed(0)}% against ${(100 * less).toFixed(0)}%), which is ${d.features[best.i] > 0.5 ? "high" : "low"} here (${d.features[best.i].toFixed(2)}).`;
}
