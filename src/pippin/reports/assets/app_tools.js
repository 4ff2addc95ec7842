// Tools: ranks under each, agreement, and the contributions of axes to a difference.
const share = (v) => (Math.abs(v) < 5e-5 ? "≈ 0" : signed(v)); // smaller than four decimals
const visibility = new IntersectionObserver(
  (entries) => {
    for (const e of entries) if (e.isIntersecting && e.target.waiting) e.target.waiting();
  },
  { rootMargin: "300px" },
);
// A figure off screen is drawn when it comes near; its height is reserved, so that the page does not shift.
// All are measured at once after the page is written, because each measurement forces a layout.
// The others are drawn when the browser is idle, so that captures of the full page and prints have all figures.
const queued = new Set();
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
  place.estimatedHeight = charts.estimateHeight(kind, options);
  if (!queued.size) queueMicrotask(drawDue);
  queued.add(place);
}
function drawDue() {
  const measured = [...queued].map((place) => [place, place.getBoundingClientRect()]);
  queued.clear();
  for (const [place, box] of measured) {
    place.wide = box.width;
    if (box.width && box.top < innerHeight + 300 && box.bottom > -300) place.waiting();
    else {
      if (!place.firstElementChild) place.style.minHeight = `${place.estimatedHeight}px`;
      visibility.unobserve(place);
      visibility.observe(place);
    }
  }
  whenIdle(drawRest);
}
// The best system of the selected tool, and its mean under every tool.
function drawSpread() {
  const best = ranked()[0] ?? BENCH.rankers[0],
    isOverall = state.data === ALL,
    means = BENCH.tools
      .map((name, t) => ({ name, value: mean(best, t), tip: `${name}: ${four(mean(best, t))}` }))
      .filter((r) => !Number.isNaN(r.value));
  $("spread-card").hidden = means.length < 2;
  if (means.length < 2) return;
  const [low, high] = [Math.min, Math.max].map((end) => four(end(...means.map((r) => r.value)))),
    numbers = new Set(means.map((r) => four(r.value))).size,
    of = `${isOverall ? "Mean " : ""}${state.measure} of ${best}`,
    where = isOverall ? "all data sets" : state.data;
  $("spread-title").textContent =
    `One ranking, ${means.length} tools, ${numbers === 1 ? "one value" : `${numbers} values`}`;
  $("spread-words").textContent = numbers === 1 ? `${of}: ${low} under every tool.` : `${of}: from ${low} to ${high}.`;
  draw("spread", "spread", () => means, {
    chosen: state.tool,
    label: `${of} on ${where} under ${means.length} tools: from ${low} to ${high}`,
  });
}
function drawTools() {
  const where = state.data || "all data sets",
    tools = shownTools();
  if ($("across")) {
    const rows = () =>
      tools.flatMap((t) => {
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
      columns: tools,
      chosen: state.tool,
      places: state.across === "place",
      most: present().length,
      yTitle: state.measure,
      label: `${state.across === "place" ? "Rank" : state.measure} of every ${NOUN} under every tool on ${where}`,
    });
    drawAgreement(tools);
    const winner = (t) => ranked(BENCH.tools.indexOf(t))[0],
      here = winner(state.tool),
      other = tools.filter((t) => winner(t) && winner(t) !== here);
    $("tools-words").textContent =
      tools.length < 2
        ? "The results have one tool."
        : other.length
          ? `${state.tool} ranks ${here} first; ${other.length} of ${tools.length} tools rank another ${NOUN} first: ${listed([...new Set(other.map(winner))].map((w) => `${w} (${other.filter((t) => winner(t) === w).join(", ")})`))}.`
          : `All ${tools.length} tools rank ${here} first.`;
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
function drawAgreement(tools) {
  const data = state.data || BENCH.data[0],
    here = panel(data),
    of = (table) => (x, y) => here[table].at(measure(), BENCH.tools.indexOf(x), BENCH.tools.indexOf(y)),
    [tau, top] = [of("tau_b"), of("tau_ap_b")],
    defined = tools.filter((t) => !Number.isNaN(tau(t, t))),
    groups = alike(defined, tau),
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
      ? `By ${state.measure} on ${data}, all ${defined.length} tools give the same leaderboard.`
      : `By ${state.measure} on ${data}, ${defined.length} tools give ${groups.length} different leaderboards. Cells show the rank correlation tau_b; 1 means the same order. Tools with the same leaderboard share a row.`;
}

// Reconcile: from one tool's value to the other's, and the queries behind each part.
function explainedMeasure(here) {
  const names = Object.keys(here.reconcile.measures),
    { family } = parts(state.measure);
  return names.includes(state.measure) ? state.measure : (names.find((m) => parts(m).family === family) ?? names[0]);
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
  const explainable = shownTools().filter((t) => t !== BENCH.tool && reconciliation(data, m, r, t)),
    differs = (t) => {
      const explanation = reconciliation(data, m, r, t);
      return Math.abs(explanation.after - explanation.before);
    };
  const name = explainable.includes(state.explain)
    ? state.explain
    : explainable.includes(state.tool)
      ? state.tool
      : [...explainable].sort((x, y) => differs(y) - differs(x))[0];
  const focused = document.activeElement?.dataset?.tool;
  $("tool-chips").innerHTML = explainable
    .map((t) => {
      const explanation = reconciliation(data, m, r, t);
      const difference = explanation.after - explanation.before,
        words = Math.abs(difference) < 5e-5 ? '<span title="the same value">=</span>' : signed(difference);
      return `<button type="button" data-tool="${escaped(t)}" aria-pressed="${t === name}">${escaped(t)} <small>${words}</small></button>`;
    })
    .join("");
  if (focused) document.querySelector(`[data-tool="${CSS.escape(focused)}"]`)?.focus();
  if (!name) return;
  drawWaterfall(data, m, r, name);
}
function drawWaterfall(data, m, r, name) {
  const explanation = reconciliation(data, m, r, name),
    axes = panel(data).reconcile.axes,
    queries = panel(data).queries,
    shares = explanation.shares.filter((s) => Math.abs(s[1]) >= 5e-7);
  $("waterfall-title").textContent = `From ${BENCH.tool} to ${name}`;
  const difference = explanation.after - explanation.before,
    subject = EXPLAINS ? `${m} of ${r}` : `${m} of ${r} on ${data}`,
    measureNote = m === state.measure ? "" : ` (shown for ${m})`;
  $("waterfall-words").textContent = shares.length
    ? `${subject}: ${four(explanation.before)} under ${BENCH.tool}, ${four(explanation.after)} under ${name}, difference ${signed(difference)}${measureNote}. Each bar is the contribution of one axis; click it to see the queries.`
    : `${subject}: ${four(explanation.before)} under both${measureNote}.`;
  let at = explanation.before;
  const steps = [
    {
      name: BENCH.tool,
      from: 0,
      to: explanation.before,
      total: true,
      words: four(explanation.before),
      tip: `${BENCH.tool}: ${four(explanation.before)}`,
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
    { name, from: 0, to: explanation.after, total: true, words: four(explanation.after), tip: `${name}: ${four(explanation.after)}` },
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
    label = $("queries") ? `<button type="button" class="open-query" data-query="${q}">${name}</button>` : name;
  return `<li><span>${label}</span> <span class="dim">${signed(value)}</span></li>`;
}
const queryName = (data, q, queries) => {
  const words = panel(data).query_texts?.[q];
  return words ? `${queries[q]} “${words.length > 40 ? words.slice(0, 39) + "…" : words}”` : queries[q];
};

// Conventions: the axes on which the selected tool differs, and all its axes.
function drawConvention() {
  const selected = conventionOf(state.tool),
    base = conventionOf(BENCH.tool).axes,
    differing = selected.axes.filter((axis) => axis[3]).length,
    isBase = state.tool === BENCH.tool;
  const differs = differing
    ? ` It differs from ${BENCH.tool} on ${differing === 1 ? "one axis" : `${differing} axes`}.`
    : ` It agrees with ${BENCH.tool} on all axes.`;
  $("convention-words").textContent =
    `${state.tool} is ${selected.title}${selected.version && `, version ${selected.version}`} (${selected.source}).${isBase ? "" : differs}`;
  const line = ([axis, value, meaning, other], i) =>
    `<tr${other ? ' class="other"' : ""}><th scope="row">${escaped(axis)}</th><td>${escaped(value)}</td>${isBase ? "" : `<td>${escaped(base[i][1])}</td>`}<td>${escaped(meaning)}</td></tr>`;
  const lines = selected.axes.map(line),
    heads = ["Axis", ...(isBase ? ["Choice"] : [state.tool, BENCH.tool]), "Meaning"];
  const fill = (id, rows) => {
    $(id).tHead.innerHTML = `<tr>${heads.map((head) => `<th scope="col">${escaped(head)}</th>`).join("")}</tr>`;
    $(id).tBodies[0].innerHTML = rows.join("");
  };
  fill(
    "axes",
    lines.filter((_, i) => selected.axes[i][3]),
  );
  fill("all-axes", lines);
  $("axes").hidden = !differing;
  document.querySelector('[data-saves="axes"] .save').hidden = !differing;
  $("all-axes-box").hidden = !lines.length;
  $("all-axes-words").textContent = `All ${lines.length} axes of ${state.tool}`;
  const sentences = [...selected.variants, ...selected.traps].map((words) => `${words[0].toUpperCase()}${words.slice(1)}.`);
  $("traps").textContent = sentences.join(" ");
}
