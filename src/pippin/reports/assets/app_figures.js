// Figures of the chosen tool: by cutoff, time against quality, importance, winning numbers.
const STRONG = 5; // highlighted lines if there are many
const firstOf = (order) => (order.length > STRONG + 2 ? order.slice(0, STRONG) : null);
function drawFigures() {
  if (!$("curves")) return;
  const { family } = parts(state.measure),
    many = (f) => BENCH.families[f]?.length > 1,
    curveFamily = many(family) ? family : many("NDCG") ? "NDCG" : Object.keys(BENCH.families).find(many);
  const cutoffs = curveFamily ? BENCH.families[curveFamily] : [],
    where = state.data || "all data sets",
    several = BENCH.data.length > 1;
  const overCutoffs = (value, words) =>
    cutoffs.flatMap((k) => {
      const m = BENCH.measures.indexOf(`${curveFamily}@${k}`);
      return present(tool(), m).map((r) => ({
        series: r,
        x: k,
        y: value(r, m),
        tip: `${r}\n${words(k)} ${value(r, m) % 1 ? four(value(r, m)) : value(r, m)}`,
      }));
    });
  $("curves").closest("figure").hidden = !curveFamily;
  if (curveFamily) {
    const strong = firstOf(ranked());
    $("curves").closest("figure").classList.toggle("wide", Boolean(strong));
    $("curves-title").textContent = `${curveFamily} by cutoff, under ${state.tool}`;
    $("curves-words").textContent =
      `Mean at every cutoff${strong ? `; the top ${STRONG} by ${state.measure} are highlighted` : ""}.`;
    draw(
      "curves",
      "lines",
      () =>
        overCutoffs(
          (r, m) => mean(r, tool(), m),
          (k) => `${curveFamily}@${k}`,
        ),
      { strong, height: strong ? 520 : undefined, yTitle: curveFamily, label: `${curveFamily} of every ${NOUN} by cutoff under ${state.tool} on ${where}` },
    );
  }
  const data = shownData(),
    trainingTime = (r) => data.reduce((sum, d) => sum + seconds(d, r), 0) / data.length,
    timed = () => present().filter((r) => trainingTime(r) > 0);
  $("time-card").hidden = !timed().length;
  if (timed().length)
    draw(
      "time",
      "points",
      () =>
        timed().map((r) => ({
          name: r,
          x: trainingTime(r),
          y: mean(r),
          tip: `${r}\n${state.measure} ${four(mean(r))}\n${duration(trainingTime(r))} s per fold · ${(Math.max(...data.map((d) => panel(d).costs[r].peak_bytes)) / 2 ** 20).toFixed(0)} MiB`,
        })),
      {
        yTitle: state.measure,
        xTitle: "seconds per fold to select and train (log scale)",
        label: `Seconds against ${state.measure} under ${state.tool} on ${where}`,
      },
    );
  drawImportance();
  $("winning-card").hidden = !several || !curveFamily;
  $("winning-words").textContent = `Comparisons that a ${NOUN} wins over all data sets (LETOR's winning number).`;
  if (several && curveFamily)
    draw(
      "winning",
      "lines",
      () =>
        overCutoffs(
          (r, m) => wins(r, tool(), m),
          (k) => `wins by ${curveFamily}@${k}:`,
        ),
      {
        strong: firstOf([...present()].sort((x, y) => wins(y) - wins(x))),
        yTitle: `wins by ${curveFamily}`,
        label: `Winning numbers by cutoff under ${state.tool}`,
      },
    );
  const none = [...$("figures").querySelectorAll("figure")].every((card) => card.hidden);
  for (const part of [$("figures"), document.querySelector('nav a[href="#figures"]')]) if (part) part.hidden = none;
}
function drawImportance() {
  const data = state.data || BENCH.data[0],
    explained = BENCH.rankers.filter((r) => panel(data).importance[r]),
    order = ranked().filter((r) => explained.includes(r));
  $("importance-card").hidden = !explained.length;
  if (!explained.length) return;
  const chosen = explained.includes(state.important) ? state.important : (order[0] ?? explained[0]);
  $("important").innerHTML = explained.map((r) => option(r, r, chosen)).join("");
  $("importance-words").textContent = `Most important features on ${data}: share of the importance, mean over folds.`;
  draw(
    "importance",
    "bars",
    () =>
      panel(data).importance[chosen].map(([name, value]) => ({
        name: called(name),
        value,
        words: charts.FORMATS["%"](value),
        colour: COLOUR[chosen],
      })),
    {
      xTitle: "share of the importance",
      tick: (v) => `${Math.round(v * 100)}%`,
      label: `Most important features for ${chosen} on ${data}`,
    },
  );
}
