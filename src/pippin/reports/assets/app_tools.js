// Tools: ranks under each, agreement, and the contributions of axes to a difference.
const share = (v) => (Math.abs(v) < 5e-5 ? "≈ 0" : signed(v)); // smaller than four decimals
const near = new IntersectionObserver(
  (entries) => {
    for (const e of entries) if (e.isIntersecting && e.target.waiting) e.target.waiting();
  },
  { rootMargin: "300px" },
);
// A figure off screen is drawn when it comes near; its height is reserved, so that the page does not shift.
// All are measured at once after the page is written, because each measurement forces a layout.
// The others are drawn when the browser is idle, so that captures of the full page and prints have all figures.
const due = new Set();
const whenIdle = window.requestIdleCallback ?? ((act) => setTimeout(act, 200));
function drawRest() {
  const place = [...document.querySelectorAll(".figure")].find((figure) => figure.waiting && figure.clientWidth);
  if (!place) return;
  place.waiting();
  whenIdle(drawRest);
}
function draw(id, kind, rows, options) {
  const place = $(id);
  options = { order: BENCH.rankers, colours: COLOUR, ...options };
  place.waiting = () => {
    place.waiting = null;
    charts.draw(place, kind, rows(), options);
  };
  place.room = charts.room(kind, options);
  if (!due.size) queueMicrotask(drawDue);
  due.add(place);
}
function drawDue() {
  const measured = [...due].map((place) => [place, place.getBoundingClientRect()]);
  due.clear();
  for (const [place, box] of measured) {
    place.wide = box.width;
    if (box.width && box.top < innerHeight + 300 && box.bottom > -300) place.waiting();
    else {
      if (!place.firstElementChild) place.style.minHeight = `${place.room}px`;
      near.unobserve(place);
      near.observe(place);
    }
  }
  whenIdle(drawRest);
}
// The best system of the selected tool, and its mean under every tool.
function drawSpread() {
  const best = ranked()[0] ?? BENCH.rankers[0],
    several = state.data === ALL,
    given = BENCH.tools
      .map((name, t) => ({ name, value: mean(best, t), tip: `${name}: ${four(mean(best, t))}` }))
      .filter((r) => !Number.isNaN(r.value));
  $("spread-card").hidden = given.length < 2;
  if (given.length < 2) return;
  const [low, high] = [Math.min, Math.max].map((end) => four(end(...given.map((r) => r.value)))),
    numbers = new Set(given.map((r) => four(r.value))).size,
    of = `${several ? "Mean " : ""}${state.measure} of ${best}`,
    where = several ? "all data sets" : state.data;
  $("spread-title").textContent =
    `One ranking, ${given.length} tools, ${numbers === 1 ? "one value" : `${numbers} values`}`;
  $("spread-words").textContent = numbers === 1 ? `${of}: ${low} under every tool.` : `${of}: from ${low} to ${high}.`;
  draw("spread", "spread", () => given, {
    chosen: state.tool,
    label: `${of} on ${where} under ${given.length} tools: from ${low} to ${high}`,
  });
}
function drawTools() {
  const where = state.data || "all data sets",
    shown = shownTools();
  if ($("across")) {
    const rows = () =>
      shown.flatMap((t) => {
        const i = BENCH.tools.indexOf(t),
          place = places(i),
          order = ranked(i);
        return order.map((r, n) => ({
          series: r,
          column: t,
          y: state.across === "place" ? n + 1 : mean(r, i),
          place: place[r],
          mean: mean(r, i),
          tip: `${r} under ${t}\nrank ${place[r]} · ${state.measure} ${four(mean(r, i))}`,
        }));
      });
    draw("across", "across", rows, {
      columns: shown,
      chosen: state.tool,
      places: state.across === "place",
      most: present().length,
      yTitle: state.measure,
      label: `${state.across === "place" ? "Rank" : state.measure} of every ${NOUN} under every tool on ${where}`,
    });
    drawAgreement(shown);
    const winner = (t) => ranked(BENCH.tools.indexOf(t))[0],
      here = winner(state.tool),
      other = shown.filter((t) => winner(t) && winner(t) !== here);
    $("tools-words").textContent =
      shown.length < 2
        ? "The results have one tool."
        : other.length
          ? `${state.tool} ranks ${here} first; ${other.length} of ${shown.length} tools rank another ${NOUN} first: ${listed([...new Set(other.map(winner))].map((w) => `${w} (${other.filter((t) => winner(t) === w).join(", ")})`))}.`
          : `All ${shown.length} tools rank ${here} first.`;
  }
  if ($("waterfall")) drawReconcile();
}
// Tools with the same leaderboard share a row: fifty tools give only a few orders.
function alike(tools, tau) {
  const groups = [];
  for (const name of tools) {
    const same = groups.find((group) => tau(group[0], name) > 1 - 1e-9);
    same ? same.push(name) : groups.push([name]);
  }
  return groups.map((group) =>
    group.includes(state.tool) ? [state.tool, ...group.filter((t) => t !== state.tool)] : group,
  );
}
function drawAgreement(shown) {
  const data = state.data || BENCH.data[0],
    here = panel(data),
    of = (table) => (x, y) => here[table].at(measure(), BENCH.tools.indexOf(x), BENCH.tools.indexOf(y)),
    [tau, top] = [of("tau_b"), of("tau_ap_b")],
    known = shown.filter((t) => !Number.isNaN(tau(t, t))),
    groups = alike(known, tau),
    firsts = groups.map((group) => group[0]);
  const cell = ([row, ...more], [column, ...others]) => ({
    row,
    column,
    value: tau(row, column),
    tau_ap_b: top(row, column),
    row_tools: [row, ...more].join(" "),
    column_tools: [column, ...others].join(" "),
    words: tau(row, column).toFixed(2).replace("0.", ".").replace("1.00", "1").replace("-", MINUS),
    tip: `${row} and ${column}\ntau_b ${tau(row, column).toFixed(3)} · tau_ap_b ${top(row, column).toFixed(3)}`,
  });
  $("agreement").closest("figure").hidden = BENCH.rankers.length < 3; // two lines show whether two systems flip
  $("agreement").hidden = groups.length < 2;
  for (const card of [$("agreement").closest("figure"), $("reconcile-card")])
    if (card) card.classList.toggle("wide", groups.length < 2 || !$("reconcile-card") || $("reconcile-card").hidden);
  draw("agreement", "matrix", () => groups.flatMap((row) => groups.map((column) => cell(row, column))), {
    rows: firsts,
    called: Object.fromEntries(groups.map((group) => [group[0], group.join(", ")])),
    headed: Object.fromEntries(groups.map(([t, ...same]) => [t, same.length ? `${t} +${same.length}` : t])),
    shade: charts.shades.agreement,
    chosen: state.tool,
    label: `tau_b between the leaderboards of every two tools by ${state.measure} on ${data}`,
  });
  $("agreement-words").textContent =
    groups.length < 2
      ? `By ${state.measure} on ${data}, all ${known.length} tools give the same leaderboard.`
      : `By ${state.measure} on ${data}, ${known.length} tools give ${groups.length} different leaderboards. Cells show the rank correlation tau_b; 1 means the same order. Tools with the same leaderboard share a row.`;
}

// Reconcile: from one tool's value to the other's, and the queries behind each part.
function explainedMeasure(here) {
  const known = Object.keys(here.reconcile.measures),
    { family } = parts(state.measure);
  return known.includes(state.measure) ? state.measure : (known.find((m) => parts(m).family === family) ?? known[0]);
}
function reconciliation(data, m, ranker, name) {
  const table = panel(data).reconcile.measures[m]?.[ranker],
    explanation = table?.explanation_of[BENCH.tools.indexOf(name)] ?? -1;
  if (explanation < 0) return null;
  const meanUnder = (t) => panel(data).means.at(BENCH.tools.indexOf(t), BENCH.measures.indexOf(m), index(ranker));
  return { before: meanUnder(BENCH.tool), after: meanUnder(name), shares: table.explanations[explanation] };
}
function drawReconcile() {
  const data = state.data || BENCH.data[0],
    here = panel(data),
    card = $("reconcile-card");
  card.hidden = !here.reconcile || BENCH.tools.length < 2;
  if (card.hidden || !ensureDecoded(here, ["reconcile"], drawReconcile)) return;
  const m = explainedMeasure(here),
    rankers = ranked().filter((r) => here.reconcile.measures[m]?.[r]);
  card.hidden = !rankers.length;
  if (card.hidden) return;
  const r = rankers.includes(state.explained) ? state.explained : rankers[0];
  $("explained").innerHTML = rankers.map((x) => option(x, x, r)).join("");
  $("explained-label").hidden = BENCH.rankers.length < 2;
  const shown = shownTools().filter((t) => t !== BENCH.tool && reconciliation(data, m, r, t)),
    differs = (t) => {
      const found = reconciliation(data, m, r, t);
      return Math.abs(found.after - found.before);
    };
  const name = shown.includes(state.explain)
    ? state.explain
    : shown.includes(state.tool)
      ? state.tool
      : [...shown].sort((x, y) => differs(y) - differs(x))[0];
  const focused = document.activeElement?.dataset?.tool;
  $("tool-chips").innerHTML = shown
    .map((t) => {
      const found = reconciliation(data, m, r, t);
      const far = found.after - found.before,
        words = Math.abs(far) < 5e-5 ? '<span title="the same value">=</span>' : signed(far);
      return `<button type="button" data-tool="${escaped(t)}" aria-pressed="${t === name}">${escaped(t)} <small>${words}</small></button>`;
    })
    .join("");
  if (focused) document.querySelector(`[data-tool="${CSS.escape(focused)}"]`)?.focus();
  if (!name) return;
  drawWaterfall(data, m, r, name);
}
function drawWaterfall(data, m, r, name) {
  const found = reconciliation(data, m, r, name),
    axes = panel(data).reconcile.axes,
    queries = panel(data).queries,
    shares = found.shares.filter((s) => Math.abs(s[1]) >= 5e-7);
  $("waterfall-title").textContent = `From ${BENCH.tool} to ${name}`;
  const far = found.after - found.before,
    what = EXPLAINS ? `${m} of ${r}` : `${m} of ${r} on ${data}`,
    elsewhere = m === state.measure ? "" : ` (shown for ${m})`;
  $("waterfall-words").textContent = shares.length
    ? `${what}: ${four(found.before)} under ${BENCH.tool}, ${four(found.after)} under ${name}, difference ${signed(far)}${elsewhere}. Each bar is the contribution of one axis; click it to see the queries.`
    : `${what}: ${four(found.before)} under both${elsewhere}.`;
  let at = found.before;
  const steps = [
    {
      name: BENCH.tool,
      from: 0,
      to: found.before,
      total: true,
      words: four(found.before),
      tip: `${BENCH.tool}: ${four(found.before)}`,
    },
    ...shares.map(([axis, value, fact]) => {
      const from = at;
      at += value;
      return {
        name: axes[axis],
        from,
        to: at,
        words: share(value),
        key: String(axis),
        tip: `${axes[axis]}: ${signed(value)}${fact ? `\n${fact}` : ""}`,
      };
    }),
    { name, from: 0, to: found.after, total: true, words: four(found.after), tip: `${name}: ${four(found.after)}` },
  ];
  const part = shares.find((s) => String(s[0]) === state.part) ?? shares[0];
  draw("waterfall", "waterfall", () => steps, {
    label: `From ${m} of ${r} under ${BENCH.tool} to ${name} on ${data}`,
    xTitle: m,
    chosen: part ? String(part[0]) : undefined,
  });
  $("carriers").innerHTML = part
    ? `<div class="chips" role="group" aria-label="Part of the difference">${shares.map((s) => `<button type="button" data-part="${s[0]}" aria-pressed="${s === part}">${escaped(axes[s[0]])} <small>${share(s[1])}</small></button>`).join("")}</div><p class="note"><b>${escaped(axes[part[0]])} ${share(part[1])}</b>${part[2] ? `: ${escaped(part[2])}` : ""}. ${part[3].length ? "Largest contributions by query:" : "It comes from rounding the printed mean, not from single queries."}</p>${part[3].length ? `<ul class="carriers">${part[3].map(([q, v]) => carrier(data, q, v, queries)).join("")}</ul>` : ""}`
    : "";
}
// A query behind a part; links to its ranked lists if the page has them.
function carrier(data, q, value, queries) {
  const name = escaped(queryName(data, q, queries)),
    shown = $("queries") ? `<button type="button" class="open-query" data-query="${q}">${name}</button>` : name;
  return `<li><span>${shown}</span> <span class="dim">${signed(value)}</span></li>`;
}
const queryName = (data, q, queries) => {
  const words = panel(data).query_texts?.[q];
  return words ? `${queries[q]} “${words.length > 40 ? words.slice(0, 39) + "…" : words}”` : queries[q];
};

// Conventions: the axes on which the selected tool differs, and all its axes.
function drawConvention() {
  const mine = own(state.tool),
    base = own(BENCH.tool).axes,
    others = mine.axes.filter((axis) => axis[3]).length,
    isBase = state.tool === BENCH.tool;
  const differs = others
    ? ` It differs from ${BENCH.tool} on ${others === 1 ? "one axis" : `${others} axes`}.`
    : ` It agrees with ${BENCH.tool} on all axes.`;
  $("convention-words").textContent =
    `${state.tool} is ${mine.title}${mine.version && `, version ${mine.version}`} (${mine.source}).${isBase ? "" : differs}`;
  const line = ([axis, value, meaning, other], i) =>
    `<tr${other ? ' class="other"' : ""}><th scope="row">${escaped(axis)}</th><td>${escaped(value)}</td>${isBase ? "" : `<td>${escaped(base[i][1])}</td>`}<td>${escaped(meaning)}</td></tr>`;
  const lines = mine.axes.map(line),
    heads = ["Axis", ...(isBase ? ["Choice"] : [state.tool, BENCH.tool]), "Meaning"];
  const fill = (id, rows) => {
    $(id).tHead.innerHTML = `<tr>${heads.map((head) => `<th scope="col">${escaped(head)}</th>`).join("")}</tr>`;
    $(id).tBodies[0].innerHTML = rows.join("");
  };
  fill(
    "axes",
    lines.filter((_, i) => mine.axes[i][3]),
  );
  fill("all-axes", lines);
  $("axes").hidden = !others;
  document.querySelector('[data-saves="axes"] .save').hidden = !others;
  $("all-axes-box").hidden = !lines.length;
  $("all-axes-words").textContent = `All ${lines.length} axes of ${state.tool}`;
  const told = [...mine.variants, ...mine.traps].map((words) => `${words[0].toUpperCase()}${words.slice(1)}.`);
  $("traps").textContent = told.join(" ");
}
