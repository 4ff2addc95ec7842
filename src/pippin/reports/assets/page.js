// Functions of every page: switch light and dark, copy the link, save tables and figures.
const saving = (() => {
  function download(name, content, type) {
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
  const INLINED_STYLES = [
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
    "paint-order",
    "stroke-linejoin",
  ];
  function standaloneSvg(place) {
    // a standalone SVG with inline styles
    const svg = place.querySelector("svg"),
      copy = svg.cloneNode(true),
      from = [svg, ...svg.querySelectorAll("*")],
      to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((node, i) => {
      const style = getComputedStyle(node);
      for (const name of INLINED_STYLES) to[i].style.setProperty(name, style.getPropertyValue(name));
      to[i].removeAttribute("class");
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.style.background = getComputedStyle(place.closest("figure, .card") ?? document.body).backgroundColor;
    return new XMLSerializer().serializeToString(copy);
  }
  // The figure with its title, its caption and its source, as one SVG.
  const LINE = 18,
    MARGIN = 16;
  function wrap(words, width) {
    const pen = document.createElement("canvas").getContext("2d"),
      lines = [""];
    pen.font = "13px system-ui, sans-serif";
    for (const word of words.split(/\s+/).filter(Boolean)) {
      const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
      if (pen.measureText(longer).width > width && lines.at(-1)) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return lines.filter(Boolean);
  }
  function captioned(place) {
    const NS = "http://www.w3.org/2000/svg",
      svg = place.querySelector("svg"),
      [width, height] = [svg.clientWidth, svg.clientHeight],
      caption = place.closest("figure")?.querySelector("figcaption"),
      title = caption?.querySelector("h2, h3")?.textContent.trim() ?? "",
      words = [...(caption?.querySelectorAll("p") ?? [])].map((p) => {
        const copy = p.cloneNode(true);
        for (const hint of copy.querySelectorAll(".hint")) hint.remove();
        return copy.textContent;
      }),
      source = [document.title, document.querySelector("footer")?.textContent.split(" · ")[0]].filter(Boolean).join(" · "),
      style = getComputedStyle(document.body),
      dim = style.getPropertyValue("--dim"),
      above = [
        ...wrap(title, width).map((line) => [line, style.color, 700]),
        ...wrap(words.join(" "), width).map((line) => [line, dim, 400]),
      ],
      top = MARGIN + above.length * LINE + (above.length ? 6 : 0),
      [wide, tall] = [width + 2 * MARGIN, top + height + LINE + MARGIN],
      inner = new DOMParser().parseFromString(standaloneSvg(place), "image/svg+xml").documentElement,
      root = document.createElementNS(NS, "svg");
    const set = (node, attributes) => {
      for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
      return node;
    };
    const write = (line, y, fill, weight, size = 13) => {
      const node = document.createElementNS(NS, "text");
      node.textContent = line;
      const font = "system-ui, sans-serif";
      return set(node, { x: MARGIN, y, fill, "font-size": size, "font-weight": weight, "font-family": font });
    };
    set(root, { xmlns: NS, width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}` });
    const ground = getComputedStyle(place.closest("figure, .card") ?? document.body).backgroundColor;
    root.append(set(document.createElementNS(NS, "rect"), { width: wide, height: tall, fill: ground }));
    above.forEach(([line, fill, weight], i) => root.append(write(line, MARGIN + (i + 0.75) * LINE, fill, weight)));
    root.append(set(inner, { x: MARGIN, y: top }), write(source, tall - MARGIN / 2, dim, 400, 11));
    return { text: new XMLSerializer().serializeToString(root), wide, tall };
  }
  async function png(place) {
    const { text, wide, tall } = captioned(place),
      image = new Image(),
      canvas = document.createElement("canvas");
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
    await image.decode();
    [canvas.width, canvas.height] = [wide * 2, tall * 2];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done));
  }
  const TABLE = {
    CSV: (table, name) => download(`${name}.csv`, csv(cellsOf(table)), "text/csv"),
    LaTeX: (table, name) => download(`${name}.tex`, latex(cellsOf(table)), "text/plain"),
    "Copy as CSV": (table) => copy(csv(cellsOf(table))),
    "Copy as LaTeX": (table) => copy(latex(cellsOf(table))),
  };
  const FIGURE = {
    PNG: async (place, name) => download(`${name}.png`, await png(place)),
    SVG: (place, name) => download(`${name}.svg`, captioned(place).text, "image/svg+xml"),
    CSV: (place, name) => download(`${name}.csv`, csv(rowsOf(place)), "text/csv"),
    "Copy as CSV": (place) => copy(csv(rowsOf(place))),
    "Copy as LaTeX": (place) => copy(latex(rowsOf(place).map((r) => r.map((v) => String(v ?? ""))))),
  };
  function menu(target, ways, what) {
    const box = document.createElement("details"),
      name = target.dataset.save,
      verb = what === "figure" ? "Share" : "Save";
    box.className = "save";
    box.innerHTML = `<summary aria-label="${verb} ${what} ${name}">${verb}</summary><div></div>`;
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
  function addMenus() {
    for (const target of document.querySelectorAll("[data-save]")) {
      const isTable = target.tagName === "TABLE",
        saveMenu = menu(target, isTable ? TABLE : FIGURE, isTable ? "table" : "figure");
      const caption = isTable
        ? target.closest("section")?.querySelector(`[data-saves="${target.id}"]`)
        : target.closest("figure")?.querySelector("figcaption");
      if (caption) {
        const words = caption.querySelector("p");
        words && !isTable ? caption.insertBefore(saveMenu, words) : caption.append(saveMenu);
      } else {
        const line = document.createElement("div");
        line.className = "saved";
        line.append(saveMenu);
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
  return { addMenus, copy, say };
})();

addEventListener("DOMContentLoaded", () => {
  saving.addMenus();
  document.getElementById("link").addEventListener("click", () => saving.copy(location.href));
  document.getElementById("theme").addEventListener("click", () => {
    theme.flip();
    document.dispatchEvent(new CustomEvent("theme"));
  });
});
