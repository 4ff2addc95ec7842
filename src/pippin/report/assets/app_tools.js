// What the tools say: places under each, agreement, and why one differs from the definition.
const share = (v) => (Math.abs(v) < 5e-5 ? "≈ 0" : signed(v)); // a part that four decimals do not show
const near = new IntersectionObserver(
  (entries) => {
    for (const e of entries) if (e.isIntersecting && e.target.waiting) e.target.waiting();
  },
  { rootMargin: "300px" },
);
// A figure off screen is drawn when it comes near; its room is kept, so that nothing moves under a reader's finger.
function draw(id, kind, rows, options) {
  const place = $(id);
  options = { order: BENCH.rankers, colours: COLOUR, ...options };
  place.waiting = () => {
    place.waiting = null;
    charts.draw(place, kind, rows(), options);
  };
  const box = place.getBoundingClientRect();
  if (box.width && box.top < innerHeight + 300 && box.bottom > -300) place.waiting();
  else {
    if (!place.firstElementChild) place.style.minHeight = `${charts.room(kind, options)}px`;
    near.unobserve(place);
    near.observe(place);
  }
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
          tip: `${r} under ${t}\nplace ${place[r]} · ${state.measure} ${four(mean(r, i))}`,
        }));
      });
    draw("across", "across", rows, {
      columns: shown,
      chosen: state.tool,
      places: state.across === "place",
      most: present().length,
      yTitle: state.measure,
      label: `${state.across === "place" ? "Place" : state.measure} of every ${NOUN} under every tool on ${where}`,
    });
    drawAgreement(shown);
    const winner = (t) => ranked(BENCH.tools.indexOf(t))[0],
      here = winner(state.tool),
      other = shown.filter((t) => winner(t) && winner(t) !== here);
    $("tools-words").textContent =
      shown.length < 2
        ? "One tool was asked."
        : other.length
          ? `${state.tool} puts ${here} first; ${other.length} of ${shown.length} tools shown put somebody else there: ${listed([...new Set(other.map(winner))].map((w) => `${w} (${other.filter((t) => winner(t) === w).join(", ")})`))}.`
          : `All ${shown.length} tools shown put ${here} first.`;
  }
  if ($("waterfall")) drawReconcile();
}
function drawAgreement(shown) {
  const data = state.data || BENCH.data[0],
    here = panel(data),
    m = measure();
  const rows = () =>
    shown.flatMap((row) =>
      shown.flatMap((column) => {
        const [i, j] = [BENCH.tools.indexOf(row), BENCH.tools.indexOf(column)],
          tau = here.tau_b.at(m, i, j),
          top = here.tau_ap_b.at(m, i, j);
        return Number.isNaN(tau)
          ? []
          : [
              {
                row,
                column,
                value: tau,
                tau_ap_b: top,
                words: tau.toFixed(2).replace("0.", ".").replace("1.00", "1").replace("-", MINUS),
                tip: `${row} and ${column}\ntau_b ${tau.toFixed(3)} · tau_ap_b ${top.toFixed(3)}`,
              },
            ];
      }),
    );
  const known = shown.filter((t) => !Number.isNaN(here.tau_b.at(m, BENCH.tools.indexOf(t), BENCH.tools.indexOf(t))));
  $("agreement").closest("figure").hidden = BENCH.rankers.length < 3; // two can only agree or not, which their lines show
  draw("agreement", "matrix", rows, {
    rows: known,
    shade: charts.shades.agreement,
    chosen: state.tool,
    label: `tau_b between the leaderboards of every two tools by ${state.measure} on ${data}`,
  });
  $("agreement-words").textContent =
    `tau_b between every two leaderboards by ${state.measure} on ${data}; 1 is the same order. Tools that agree stand together.`;
}

// Reconcile: from the definition's number to the tool's, and the queries that carry each part.
function explainedMeasure(here) {
  const known = Object.keys(here.reconcile.measures),
    { family } = parts(state.measure);
  return known.includes(state.measure) ? state.measure : (known.find((m) => parts(m).family === family) ?? known[0]);
}
function reconciliation(data, m, ranker, name) {
  const table = panel(data).reconcile.measures[m]?.[ranker],
    way = table?.ways[BENCH.tools.indexOf(name)] ?? -1;
  if (way < 0) return null;
  const number = (t) => panel(data).means.at(BENCH.tools.indexOf(t), BENCH.measures.indexOf(m), index(ranker));
  return { before: number(BENCH.tool), after: number(name), shares: table.found[way] };
}
function drawReconcile() {
  const data = state.data || BENCH.data[0],
    here = panel(data),
    card = $("reconcile-card");
  card.hidden = !here.reconcile || BENCH.tools.length < 2;
  if (card.hidden || !at_hand(here, ["reconcile"], drawReconcile)) return;
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
      return `<button type="button" data-tool="${escaped(t)}" aria-pressed="${t === name}">${escaped(t)} <small>${Math.abs(found.after - found.before) < 5e-5 ? '<span title="the same number">=</span>' : signed(found.after - found.before)}</small></button>`;
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
  $("waterfall-title").textContent = `Why does ${name} give another number than ${BENCH.tool}?`;
  const far = found.after - found.before,
    elsewhere = m === state.measure ? "" : ` (explained by ${m}; ${state.measure} was not shared out)`;
  $("waterfall-words").textContent = shares.length
    ? `${m} of ${r} on ${data}: ${BENCH.tool} says ${four(found.before)}, ${name} ${four(found.after)}, a difference of ${signed(far)}, shared out over the choices in which they differ${elsewhere}. Choose a part to see the queries that carry it.`
    : `${m} of ${r} on ${data}: both say ${four(found.before)}; no choice in which they differ matters here${elsewhere}.`;
  let at = found.before;
  const steps = [
    {
      name: BENCH.tool,
      from: 0,
      to: found.before,
      total: true,
      words: four(found.before),
      tip: `${BENCH.tool} says ${four(found.before)}`,
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
    { name, from: 0, to: found.after, total: true, words: four(found.after), tip: `${name} says ${four(found.after)}` },
  ];
  const part = shares.find((s) => String(s[0]) === state.part) ?? shares[0];
  charts.draw($("waterfall"), "waterfall", steps, {
    label: `From ${BENCH.tool}'s ${m} of ${r} to that of ${name} on ${data}`,
    xTitle: m,
    chosen: part ? String(part[0]) : undefined,
  });
  $("carriers").innerHTML = part
    ? `<div class="chips" role="group" aria-label="Part of the difference">${shares.map((s) => `<button type="button" data-part="${s[0]}" aria-pressed="${s === part}">${escaped(axes[s[0]])} <small>${share(s[1])}</small></button>`).join("")}</div><p class="note"><b>${escaped(axes[part[0]])} ${share(part[1])}</b>${part[2] ? `: ${escaped(part[2])}` : ""}. ${part[3].length ? "Carried most by:" : "No single query carries it: it is the rounding of what is printed."}</p>${part[3].length ? `<ul class="carriers">${part[3].map(([q, v]) => `<li><button type="button" class="open-query" data-query="${q}">${escaped(queryName(data, q, queries))}</button> <span class="dim">${signed(v)}</span></li>`).join("")}</ul>` : ""}`
    : "";
}
const queryName = (data, q, queries) => {
  const words = panel(data).query_texts?.[q];
  return words ? `${queries[q]} “${words.length > 40 ? words.slice(0, 39) + "…" : words}”` : queries[q];
};

// Where each number comes from: the chosen tool's convention in words.
function drawConvention() {
  const mine = own(state.tool);
  $("convention-words").textContent =
    `${state.tool} is ${mine.title}, version ${mine.version} (${mine.source}). Every number above follows these choices${state.tool === BENCH.tool ? "" : `; green ones differ from ${BENCH.tool}`}.`;
  $("axes").tHead.innerHTML =
    '<tr><th scope="col">Choice</th><th scope="col">Value</th><th scope="col">What it decides</th></tr>';
  $("axes").tBodies[0].innerHTML = mine.axes
    .map(
      ([axis, value, meaning, other]) =>
        `<tr class="${other ? "other" : ""}"><th scope="row">${escaped(axis)}</th><td>${escaped(value)}</td><td>${escaped(meaning)}</td></tr>`,
    )
    .join("");
  $("traps").textContent =
    [...mine.variants, ...mine.traps].map((t) => t[0].toUpperCase() + t.slice(1)).join(". ") +
    (mine.traps.length + mine.variants.length ? "." : "");
}
