// Draw the page and handle events.
function drawFinding() {
  $("finding").textContent = (state.data === ALL ? whole() : panel(state.data)).findings[measure()][tool()];
}
function drawAll() {
  theme.choose(state.theme || null);
  const tip = $("tip");
  if (tip) tip.hidden = true;
  drawSwitches();
  drawFinding();
  drawSpread();
  if ($("board")) {
    $("pairs-box").open = state.pairs === "open";
    drawBoard();
    $("filter").value = state.filter;
  }
  drawTools();
  drawFigures();
  drawQueries();
  drawConvention();
  if ($("query-filter")) $("query-filter").value = state.find;
  for (const input of document.getElementsByName("across")) input.checked = input.value === state.across;
}
function choose(changes) {
  Object.assign(state, changes);
  writeHash();
  drawAll();
}
function only(changes, ...redraw) {
  Object.assign(state, changes);
  writeHash();
  for (const part of redraw) part();
}
const on = (id, kind, act) => $(id)?.addEventListener(kind, act);
function showQuery(key) {
  only({ query: key === state.query ? "" : key }, drawQueries);
  if (state.query) $("query-detail").scrollIntoView({ block: "nearest" });
}

// On a phone the switches are folded, and fold again when the reader scrolls on.
function listenToPhone() {
  let from = 0;
  const show = (open) => {
    from = scrollY;
    $("switches").classList.toggle("opened", open);
    $("chosen").setAttribute("aria-expanded", open);
  };
  const isOpen = () => $("switches").classList.contains("opened");
  on("chosen", "click", () => show(!isOpen()));
  addEventListener("scroll", () => isOpen() && Math.abs(scrollY - from) > 240 && show(false), { passive: true });
}
function listen() {
  for (const id of ["data", "tool", "convention"])
    on(id, "change", (e) =>
      choose({
        [id]: e.target.value,
        ...(id === "tool" ? { explain: "", part: "" } : id === "data" ? { query: "" } : {}),
      }),
    );
  on("family", "change", (e) => choose({ measure: withCutoff(e.target.value) }));
  on("cutoff", "change", (e) => choose({ measure: `${parts(state.measure).family}@${e.target.value}` }));
  on("filter", "input", (e) => only({ filter: e.target.value }, drawBoard));
  on("query-filter", "input", (e) => only({ find: e.target.value }, drawQueries));
  on("switches", "submit", (e) => e.preventDefault());
  listenToPhone();
  on("group", "change", (e) => only({ group: e.target.value }, drawTools));
  on("first", "change", (e) => only({ a: e.target.value, b: $("second").value }, drawQueries, drawPairs));
  on("second", "change", (e) => only({ a: $("first").value, b: e.target.value }, drawQueries, drawPairs));
  on("important", "change", (e) => only({ important: e.target.value }, drawImportance));
  on("explained", "change", (e) => only({ explained: e.target.value, part: "" }, drawReconcile));
  on("pairs-box", "toggle", () => {
    if ($("pairs-box").open !== (state.pairs === "open")) only({ pairs: $("pairs-box").open ? "open" : "" }, drawPairs);
  });
  for (const input of document.getElementsByName("across"))
    input.addEventListener("change", (e) => only({ across: e.target.value }, drawTools));
  document.addEventListener("theme", () => only({ theme: document.documentElement.dataset.theme }));
  on("tool-chips", "click", (e) => {
    const name = e.target.closest("[data-tool]")?.dataset.tool;
    if (name && EXPLAINS) choose({ tool: name, part: "" });
    else if (name) only({ explain: name, part: "" }, drawReconcile);
  });
  on("waterfall", "click", (e) => {
    const key = e.target.closest("[data-key]")?.dataset.key;
    if (key !== undefined) only({ part: key }, drawReconcile);
  });
  on("carriers", "click", (e) => {
    const part = e.target.closest("[data-part]")?.dataset.part,
      query = e.target.closest("[data-query]")?.dataset.query;
    if (part !== undefined) {
      only({ part }, drawReconcile);
      document.querySelector(`[data-part="${part}"]`)?.focus();
    }
    if (query !== undefined && $("queries")) {
      only({ query: `${state.data || BENCH.data[0]}/${query}`, find: "" }, drawQueries);
      $("queries").scrollIntoView();
    }
  });
  for (const id of ["spread", "across", "agreement"])
    on(id, "click", (e) => {
      const name = e.target.closest("[data-column]")?.dataset.column;
      if (OFFERED.includes(name)) choose({ tool: name, explain: "", part: "" });
    });
  on("pairs", "click", (e) => {
    const cell = e.target.closest("[data-row][data-column]");
    if (cell) only({ a: cell.dataset.row, b: cell.dataset.column }, drawPairs, drawQueries);
  });
  on("query-figure", "click", (e) => {
    const key = e.target.closest("[data-key]")?.dataset.key;
    if (key) showQuery(key);
  });
  on("query-table", "click", (e) => {
    const head = e.target.closest("[data-qsort]")?.dataset.qsort,
      row = e.target.closest("[data-show]")?.dataset.show;
    if (head) {
      only({ qsort: head }, drawQueries);
      document.querySelector(`[data-qsort="${head}"]`).focus();
    } else if (row) {
      showQuery(row);
      document.querySelector(`[data-show="${CSS.escape(row)}"]`)?.focus({ preventScroll: true });
    }
  });
  on("board", "click", (e) => {
    const head = e.target.closest("[data-sort]"),
      row = e.target.closest("[data-open]");
    if (e.target.id === "clear-filter") {
      only({ filter: "" }, drawBoard);
      $("filter").value = "";
      $("filter").focus();
    } else if (head) {
      const id = head.dataset.sort,
        same = state.sort === id,
        first = ["place", "ranker", "seconds", "behind"].includes(id) ? "ascending" : "descending";
      only({ sort: id, order: same ? (state.order === "ascending" ? "descending" : "ascending") : first }, drawBoard);
      document.querySelector(`[data-sort="${CSS.escape(id)}"]`).focus();
    } else if (row) {
      const name = row.dataset.open;
      opened.has(name) ? opened.delete(name) : opened.add(name);
      drawBoard();
      document.querySelector(`[data-open="${CSS.escape(name)}"]`).focus();
    }
  });
  // Links within the page scroll and keep the selection.
  document.addEventListener("click", (e) => {
    const link = e.target.closest('a[href^="#"]');
    if (!link) return;
    e.preventDefault();
    const to = $(link.getAttribute("href").slice(1));
    to?.scrollIntoView();
    if (link.classList.contains("skip")) to?.focus();
  });
  addEventListener("hashchange", () => {
    readHash();
    drawAll();
  });
  addEventListener("beforeprint", () => {
    for (const f of document.querySelectorAll(".figure")) f.waiting?.();
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (Math.abs(innerWidth - width) > 40) {
      width = innerWidth;
      drawSpread();
      drawTools();
      drawFigures();
      drawQueries();
      drawPairs();
    }
  });
}

(async () => {
  await Promise.all(
    [...Object.values(BENCH.panels).flatMap((p) => Object.values(p)), ...Object.values(BENCH.overall)].map(decodeAll),
  );
  readHash();
  listen();
  drawAll();
  document.body.dataset.ready = "yes";
})().catch((error) => {
  document.body.dataset.error = error;
  $("finding").textContent = `The page could not be drawn: ${error.message}`;
  throw error;
});
