// A click on a header (or Enter in it) sorts by that column.
for (const head of document.querySelectorAll("thead th")) {
  const sort = () => {
    const table = head.closest("table"), body = table.tBodies[0], at = [...head.parentNode.children].indexOf(head);
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = row => { const text = row.cells[at].dataset.value ?? row.cells[at].textContent.replace("−", "-");
                         const number = parseFloat(text); return Number.isNaN(number) ? text : number; };
    const rows = [...body.rows].sort((a, b) => { const x = key(a), y = key(b);
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return down ? -order : order; });
    body.append(...rows);
  };
  head.tabIndex = 0; head.addEventListener("click", sort);
  head.addEventListener("keydown", event => { if (event.key === "Enter") sort(); });
}
for (const [id, spec] of Object.entries(FIGURES)) embed("#" + id, spec);
