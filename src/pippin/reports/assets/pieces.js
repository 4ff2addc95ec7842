// Sortable tables and figures within a root: a page, or an output of a notebook.
function showPieces(root, figures) {
  for (const head of root.querySelectorAll("table.sorts thead button"))
    head.addEventListener("click", () => {
      const cell = head.closest("th"),
        table = head.closest("table"),
        at = [...cell.parentNode.children].indexOf(cell),
        down = cell.getAttribute("aria-sort") !== "descending";
      for (const other of cell.parentNode.children) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const words = row.cells[at].textContent.trim().replace("−", "-"),
          number = parseFloat(words);
        return Number.isNaN(number) ? words : number;
      };
      const order = (x, y) =>
        typeof x === "number" && typeof y === "number"
          ? x - y
          : typeof x === "number"
            ? 1
            : typeof y === "number"
              ? -1
              : x.localeCompare(y);
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => (down ? -1 : 1) * order(key(a), key(b))));
    });
  for (const [id, figure] of Object.entries(figures)) {
    const options = { ...figure.options, shade: charts.shades[figure.options.shade] };
    charts.draw(root.querySelector(`[data-figure="${id}"]`), figure.kind, figure.rows, options);
  }
}
