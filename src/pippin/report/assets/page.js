// What every page can do: switch light and dark, copy its link, and hand out its tables and figures.
const saving = (() => {
  function offer(name, content, type) {
    const link = Object.assign(document.createElement("a"), {
      href: URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type })),
      download: name,
    });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
  async function copy(words) {
    try {
      await navigator.clipboard.writeText(words);
    } catch {
      const area = Object.assign(document.createElement("textarea"), { value: words });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    say("Copied.");
  }
  function say(words) {
    const box = document.getElementById("said");
    box.textContent = words;
    setTimeout(() => {
      box.textContent = "";
    }, 2500);
  }
  const cellText = (cell) => (cell.dataset.value ?? cell.textContent).replace(/\s+/g, " ").trim();
  const cellsOf = (table) =>
    [...table.rows]
      .filter((r) => !r.classList.contains("more") && r.closest("table") === table)
      .map((r) => [...r.cells].filter((c) => !c.classList.contains("group")).map(cellText));
  const csv = (rows) =>
    rows
      .map((r) =>
        r
          .map((v) => {
            const text = String(v ?? "");
            return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
          })
          .join(","),
      )
      .join("\n") + "\n";
  const LATEX = {
    "\\": "\\textbackslash{}",
    "&": "\\&",
    "%": "\\%",
    $: "\\$",
    "#": "\\#",
    _: "\\_",
    "{": "\\{",
    "}": "\\}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "−": "$-$",
    "†": "$^\\dagger$",
    "≈": "$\\approx$",
    "–": "--",
    "▲": "$\\uparrow$",
    "▼": "$\\downarrow$",
  };
  const escape = (text) => text.replace(/[\\&%$#_{}~^−†≈–▲▼]/g, (c) => LATEX[c]);
  function latex(rows) {
    const [head, ...body] = rows,
      wide = Math.max(...rows.map((r) => r.length)),
      line = (r) => r.map(escape).join(" & ") + " \\\\";
    return [
      `\\begin{tabular}{l${"r".repeat(Math.max(0, wide - 1))}}`,
      "\\toprule",
      line(head),
      "\\midrule",
      ...body.map(line),
      "\\bottomrule",
      "\\end{tabular}",
      "",
    ].join("\n");
  }
  function rowsOf(place) {
    const rows = place.figure.rows.map((r) =>
        Object.fromEntries(
          Object.entries(r).filter(([name]) => !["tip", "words", "key", "colour", "kind", "chosen"].includes(name)),
        ),
      ),
      heads = [...new Set(rows.flatMap(Object.keys))];
    return [heads, ...rows.map((r) => heads.map((h) => r[h]))];
  }
  const KEPT = [
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-opacity",
    "stroke-dasharray",
    "stroke-linecap",
    "opacity",
    "font-size",
    "font-weight",
    "font-family",
  ];
  function alone(place) {
    // the drawing by itself: what the page's style says of it is written into it
    const drawn = place.querySelector("svg"),
      copied = drawn.cloneNode(true),
      from = [drawn, ...drawn.querySelectorAll("*")],
      to = [copied, ...copied.querySelectorAll("*")];
    from.forEach((node, i) => {
      const style = getComputedStyle(node);
      for (const name of KEPT) to[i].style.setProperty(name, style.getPropertyValue(name));
      to[i].removeAttribute("class");
    });
    copied.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copied.style.background = getComputedStyle(place.closest("figure, .card") ?? document.body).backgroundColor;
    return new XMLSerializer().serializeToString(copied);
  }
  async function png(place) {
    const drawn = place.querySelector("svg"),
      image = new Image(),
      canvas = document.createElement("canvas");
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(alone(place));
    await image.decode();
    [canvas.width, canvas.height] = [drawn.clientWidth * 2, drawn.clientHeight * 2];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done));
  }
  const TABLE = {
    CSV: (table, name) => offer(`${name}.csv`, csv(cellsOf(table)), "text/csv"),
    LaTeX: (table, name) => offer(`${name}.tex`, latex(cellsOf(table)), "text/plain"),
    "Copy as CSV": (table) => copy(csv(cellsOf(table))),
    "Copy as LaTeX": (table) => copy(latex(cellsOf(table))),
  };
  const FIGURE = {
    SVG: (place, name) => offer(`${name}.svg`, alone(place), "image/svg+xml"),
    PNG: async (place, name) => offer(`${name}.png`, await png(place)),
    CSV: (place, name) => offer(`${name}.csv`, csv(rowsOf(place)), "text/csv"),
    "Copy as CSV": (place) => copy(csv(rowsOf(place))),
    "Copy as LaTeX": (place) => copy(latex(rowsOf(place).map((r) => r.map((v) => String(v ?? ""))))),
  };
  function menu(target, ways, what) {
    const box = document.createElement("details"),
      name = target.dataset.save;
    box.className = "save";
    box.innerHTML = `<summary aria-label="Save ${what} ${name}">Save</summary><div></div>`;
    for (const [label, way] of Object.entries(ways)) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: label });
      button.addEventListener("click", async () => {
        box.open = false;
        if (what === "figure" && !target.figure) target.waiting?.();
        await way(
          target,
          `${name}${
            location.hash
              ? "-" +
                location.hash
                  .slice(1)
                  .replace(/[^\w.-]+/g, "-")
                  .slice(0, 60)
              : ""
          }`,
        );
      });
      box.lastChild.append(button);
    }
    return box;
  }
  function everywhere() {
    for (const target of document.querySelectorAll("[data-save]")) {
      const isTable = target.tagName === "TABLE",
        made = menu(target, isTable ? TABLE : FIGURE, isTable ? "table" : "figure");
      const caption = isTable
        ? target.closest("section")?.querySelector(`[data-saves="${target.id}"]`)
        : target.closest("figure")?.querySelector("figcaption");
      if (caption) {
        const words = caption.querySelector("p");
        words && !isTable ? caption.insertBefore(made, words) : caption.append(made);
      } else {
        const line = document.createElement("div");
        line.className = "saved";
        line.append(made);
        (target.closest(".scroll") ?? target).before(line);
      }
    }
    document.addEventListener("click", (e) => {
      for (const open of document.querySelectorAll("details.save[open]"))
        if (!open.contains(e.target)) open.open = false;
    });
    document.addEventListener("keydown", (e) => {
      if (e.key === "Escape")
        for (const open of document.querySelectorAll("details.save[open]")) {
          open.open = false;
          open.firstChild.focus();
        }
    });
  }
  return { everywhere, copy, say };
})();

addEventListener("DOMContentLoaded", () => {
  saving.everywhere();
  document.getElementById("link").addEventListener("click", () => saving.copy(location.href));
  document.getElementById("theme").addEventListener("click", () => {
    theme.flip();
    document.dispatchEvent(new CustomEvent("theme"));
  });
});
