// Figures from rows, as SVG: lines, places, matrices, points, bars, waterfalls, intervals.
// Colours and sizes are the page's own (page.css), so figures follow light and dark, and print black on white.
const charts = (() => {
  const NS = "http://www.w3.org/2000/svg",
    MINUS = "−",
    FONT = "12px system-ui, sans-serif",
    GAP = 14;
  const COLOURS = [
    "#4c78a8",
    "#d5691f",
    "#3f8f4b",
    "#d1495b",
    "#2d9490",
    "#9a6fb0",
    "#8d6e56",
    "#b08a12",
    "#d36f92",
    "#7d8590",
    "#5f63c4",
    "#7c9a1e",
    "#2f7f93",
    "#b5543a",
    "#3f8fd0",
    "#b04a8f",
    "#66727f",
    "#5b8a72",
  ];
  const colour = (at) => COLOURS[at % COLOURS.length];
  const decimal = (digits) => (v) => (v === null || Number.isNaN(v) ? "–" : v.toFixed(digits).replace("-", MINUS));
  const signed = (digits) => (v) => (v > 0 ? "+" : "") + decimal(digits)(v);
  const FORMATS = {
    4: decimal(4),
    3: decimal(3),
    2: decimal(2),
    0: decimal(0),
    "+4": signed(4),
    "%": (v) => `${(100 * v).toFixed(1)} %`,
    g: (v) => (v >= 100 ? v.toFixed(0) : v >= 1 ? v.toFixed(1) : v.toPrecision(2)),
    p: (v) => (v < 1e-4 ? v.toExponential(0).replace("-", MINUS) : v.toFixed(4)),
  };

  function make(tag, attributes = {}, ...inside) {
    const node = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes))
      if (value !== null && value !== undefined) node.setAttribute(name, value);
    node.append(...inside.filter((part) => part !== null && part !== undefined));
    return node;
  }
  const text = (x, y, words, attributes = {}) =>
    make("text", { x: x.toFixed(1), y: y.toFixed(1), ...attributes }, words);
  const line = (x1, y1, x2, y2, kind, more = {}) =>
    make("line", { x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1), class: kind, ...more });
  // Width of text in the current font, which differs between machines.
  const pen = document.createElement("canvas").getContext("2d"),
    measured = new Map();
  function textWidth(words, font = FONT) {
    const key = `${font}|${words}`;
    if (!measured.has(key)) {
      pen.font = font;
      measured.set(key, pen.measureText(words).width);
    }
    return measured.get(key);
  }
  const widest = (words) => Math.max(0, ...words.map((w) => textWidth(w)));
  function short(words, maxWidth) {
    let clipped = String(words);
    if (textWidth(clipped) <= maxWidth) return clipped;
    while (clipped.length > 2 && textWidth(clipped + "…") > maxWidth) clipped = clipped.slice(0, -1);
    return clipped + "…";
  }

  // Scales
  const linear = (from, to, start, end) => (v) =>
    start + (to === from ? 0.5 : (v - from) / (to - from)) * (end - start);
  function ticks(from, to, about) {
    if (!(to > from)) return [from];
    const raw = (to - from) / about,
      power = 10 ** Math.floor(Math.log10(raw)),
      step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
    const values = [];
    for (let at = Math.ceil(from / step - 1e-9); at * step <= to + step * 1e-9; at++)
      values.push(Number((at * step).toPrecision(12)));
    return values;
  }
  const marks = (length) => Math.max(3, Math.round(length / 130)); // about how many numbers fit on an axis
  const plain = (v) => String(Number(v.toPrecision(6))).replace("-", MINUS);
  function span(values, zero, pad = 0.06) {
    const numbers = values.filter((v) => v !== null && !Number.isNaN(v));
    if (!numbers.length) return [0, 1];
    let [low, high] = [Math.min(...numbers), Math.max(...numbers)];
    if (zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
    const padding = (high - low || Math.abs(high) || 1) * pad;
    return [zero && low === 0 ? 0 : low - padding, zero && high === 0 ? 0 : high + padding];
  }

  // Positions of labels: as near to the wanted ones as possible without overlap.
  function separate(targets, gap, top, bottom) {
    const order = targets.map((y, i) => [y, i]).sort((a, b) => a[0] - b[0]),
      placed = order.map((o) => o[0]);
    const step = Math.min(gap, (bottom - top) / Math.max(1, placed.length - 1));
    for (let i = 0; i < placed.length; i++) placed[i] = Math.max(placed[i], i ? placed[i - 1] + step : top);
    for (let i = placed.length - 1; i >= 0; i--) placed[i] = Math.min(placed[i], i < placed.length - 1 ? placed[i + 1] - step : bottom);
    const positions = [];
    order.forEach(([, i], n) => {
      positions[i] = placed[n];
    });
    return positions;
  }

  // Tooltips.
  function tip(node, words) {
    node.dataset.tip = words;
    return node;
  }
  function listen(place) {
    if (place.listening) return;
    place.listening = true;
    const tooltipElement = () => {
      const element = document.getElementById("tip") ?? document.createElement("div");
      if (element.isConnected) return element;
      Object.assign(element, { id: "tip", className: "pippin tip", hidden: true });
      element.setAttribute("aria-hidden", "true"); // screen readers read the label of the figure and can save its rows as CSV
      return document.body.appendChild(element);
    };
    place.addEventListener("pointermove", (e) => {
      const on = e.target.closest?.("[data-tip]"),
        tooltip = tooltipElement(),
        series = e.target.closest?.("[data-series]")?.dataset.series;
      for (const part of place.querySelectorAll("[data-series]"))
        part.classList.toggle("faded", series !== undefined && part.dataset.series !== series);
      tooltip.hidden = !on;
      if (!on) return;
      if (tooltip.textContent !== on.dataset.tip) tooltip.textContent = on.dataset.tip;
      const right = e.clientX + tooltip.offsetWidth + 24 > innerWidth;
      tooltip.style.left = `${Math.max(4, right ? e.clientX - tooltip.offsetWidth - 14 : e.clientX + 14)}px`;
      tooltip.style.top = `${Math.max(4, Math.min(e.clientY + 14, innerHeight - tooltip.offsetHeight - 8))}px`;
    });
    place.addEventListener("pointerleave", () => {
      tooltipElement().hidden = true;
      for (const part of place.querySelectorAll(".faded")) part.classList.remove("faded");
    });
  }

  // Width of a container: measured with all others, or its current width.
  const widthOf = (place) => place.wide || place.clientWidth || 640;
  function frame(place, height, label) {
    const width = Math.max(240, widthOf(place));
    const root = make("svg", {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": label,
      class: "chart",
    });
    return { root, width, height };
  }
  function bottomAxis(root, scale, at, left, right, y, title, show = plain) {
    for (const v of at)
      root.append(
        line(scale(v), y, scale(v), y + 4, "rule"),
        text(scale(v), y + 16, show(v), { class: "tick", "text-anchor": "middle" }),
      );
    root.append(line(left, y, right, y, "rule"));
    if (title) root.append(text((left + right) / 2, y + 33, title, { class: "title", "text-anchor": "middle" }));
  }
  function leftAxis(root, scale, at, left, right, title, show = plain) {
    for (const v of at)
      root.append(
        line(left, scale(v), right, scale(v), "grid"),
        text(left - 6, scale(v) + 4, show(v), { class: "tick", "text-anchor": "end" }),
      );
    if (title) root.append(text(left, 11, title, { class: "title" }));
  }
  const rotatedText = (x, y, words, more = {}) =>
    make(
      "text",
      {
        transform: `translate(${x.toFixed(1)},${y.toFixed(1)}) rotate(-50)`,
        class: "tick",
        "text-anchor": "end",
        ...more,
      },
      words,
    );
  const seriesOf = (rows) => [...new Set(rows.map((r) => r.series))];
  const marksOf = (options) => (name) =>
    options.colours?.[name] ?? colour((options.order ?? []).indexOf(name) + (options.order ? 0 : 1));

  // The tick values whose labels do not overlap; the last is always kept.
  const clear = (values, scale) =>
    values.reduceRight(
      (labelled, v) =>
        labelled.length && scale(labelled[0]) - scale(v) < plain(v).length * 5 + plain(labelled[0]).length * 5
          ? labelled
          : [v, ...labelled],
      [],
    );
  // Default heights.
  const HEIGHTS = { lines: 400, across: 320, points: 400, differences: 220, spread: 160 };
  // Approximate height of a figure that is not drawn yet, so that the page does not shift.
  const estimateHeight = (kind, options) =>
    kind === "matrix"
      ? 30 * options.rows.length + 80
      : (options.height ??
        Math.max(HEIGHTS[kind] ?? 240, kind in { lines: 1, across: 1 } ? (options.order?.length ?? 0) * GAP + 70 : 0));
  // A line per series over numbers, or over their logarithms; labelled at its end. rows: series, x, y, tip
  function lines(place, rows, options) {
    const names = seriesOf(rows),
      mark = marksOf({ ...options, order: options.order ?? names }),
      narrow = widthOf(place) < 420;
    const labels = names.length > 1,
      labelWidth = labels ? Math.min(widest(names) + 22, narrow ? 96 : 170) : 14;
    const { root, width, height } = frame(
      place,
      Math.max(options.height ?? HEIGHTS.lines, labels ? names.length * GAP + 70 : 0),
      options.label,
    );
    const [left, right, top, bottom] = [50, width - labelWidth, 24, height - 42],
      xs = [...new Set(rows.map((r) => r.x))].sort((a, b) => a - b);
    const [low, high] = span(
        rows.flatMap((r) => [r.y, r.low ?? r.y, r.high ?? r.y]),
        options.zero,
      ),
      scaled = options.log ? Math.log : (v) => v,
      along = linear(scaled(xs[0]), scaled(xs.at(-1)), left + 8, right - 8),
      x = (v) => along(scaled(v)),
      y = linear(low, high, bottom, top);
    leftAxis(root, y, ticks(low, high, 5), left, right, options.yTitle);
    bottomAxis(
      root,
      x,
      options.log || xs.length <= 12 ? clear(xs, x) : ticks(xs[0], xs.at(-1), 8),
      left,
      right,
      bottom,
      options.xTitle ?? "cutoff",
    );
    const ends = names.map((n) => rows.filter((r) => r.series === n).reduce((a, b) => (b.x > a.x ? b : a))),
      at = separate(
        ends.map((r) => y(r.y)),
        GAP,
        top + 2,
        bottom + 8,
      );
    names.forEach((name, i) => {
      const points = rows.filter((r) => r.series === name).sort((a, b) => a.x - b.x),
        stroke = mark(name),
        pale = options.strong && !options.strong.includes(name),
        group = make("g", { "data-series": name, class: `series${pale ? " pale" : options.strong ? " strong" : ""}` });
      for (const r of points)
        if (r.low !== undefined) group.append(line(x(r.x), y(r.low), x(r.x), y(r.high), "whisker", { stroke }));
      group.append(
        make("path", {
          d: "M" + points.map((r) => `${x(r.x).toFixed(1)},${y(r.y).toFixed(1)}`).join("L"),
          class: "line",
          stroke,
        }),
      );
      for (const r of points)
        group.append(
          tip(make("circle", { cx: x(r.x).toFixed(1), cy: y(r.y).toFixed(1), r: 3.2, fill: stroke }), r.tip),
        );
      if (labels)
        group.append(
          line(x(ends[i].x) + 4, y(ends[i].y), right + 8, at[i], "leader", { stroke }),
          text(right + 11, at[i] + 4, short(name, labelWidth - 12), { class: "name" }),
        );
      root.append(group);
    });
    return root;
  }

  // A line per series over named columns: ranks (1 on top) or values. rows: series, column, y, tip
  function across(place, rows, options) {
    const names = seriesOf(rows),
      columns = options.columns.filter((c) => rows.some((r) => r.column === c)),
      mark = marksOf(options),
      showsRanks = options.places;
    const available = widthOf(place),
      side = Math.min(widest(names) + 34, available < 480 ? 92 : 150),
      foot = Math.min(110, widest(columns) * 0.8 + 18);
    const { root, width, height } = frame(
      place,
      Math.max(options.height ?? HEIGHTS.across, names.length * (showsRanks ? 21 : GAP) + foot + 34),
      options.label,
    );
    const narrow = available < 480,
      [left, right, top, bottom] = [
        showsRanks && !narrow ? side : showsRanks ? 30 : 50,
        width - side,
        showsRanks ? 16 : 24,
        height - foot,
      ];
    const [low, high] = showsRanks ? [1, Math.max(2, options.most)] : span(rows.map((r) => r.y)),
      y = showsRanks ? linear(1, high, top + 6, bottom - 10) : linear(low, high, bottom, top);
    const x = (at) =>
      columns.length < 2 ? (left + right) / 2 : left + 12 + (at * (right - left - 24)) / (columns.length - 1);
    const every = Math.ceil((12 * columns.length) / (right - left)); // skip labels that would overlap
    columns.forEach((c, i) =>
      root.append(
        ...[
          make("rect", {
            x: (x(i) - (right - left) / columns.length / 2).toFixed(1),
            y: top - 8,
            width: ((right - left) / columns.length).toFixed(1),
            height: height - top + 8,
            class: `column${c === options.chosen ? " chosen" : ""}`,
            "data-column": c,
          }),
          i % every && c !== options.chosen
            ? null
            : rotatedText(x(i) + 3, bottom + 14, c, {
                class: `tick column-name${c === options.chosen ? " chosen" : ""}`,
                "data-column": c,
              }),
        ].filter(Boolean),
      ),
    );
    if (!showsRanks) leftAxis(root, y, ticks(low, high, 5), left, right, options.yTitle);
    const ends = [0, columns.length - 1].map((at) =>
      names.map((n) => rows.find((r) => r.series === n && r.column === columns[at])),
    );
    const labelHeights = ends.map((endRows) =>
      separate(
        endRows.map((r) => (r ? y(r.y) : bottom)),
        GAP,
        top,
        bottom,
      ),
    );
    // If some series change their rank, fade those that never do.
    const moves = (name) => new Set(rows.filter((r) => r.series === name).map((r) => r.y)).size > 1,
      moving = showsRanks ? names.filter(moves) : names,
      pale = (name) => moving.length > 0 && !moving.includes(name);
    names.forEach((name, i) => {
      const ownRows = columns
          .map((c, at) => [at, rows.find((r) => r.series === name && r.column === c)])
          .filter((o) => o[1]),
        stroke = mark(name);
      const group = make("g", { "data-series": name, class: pale(name) ? "series pale" : "series" }),
        points = ownRows.map(([at, r]) => [x(at), y(r.y)]);
      const path = points
        .map(([px, py], n) => {
          if (!n) return `M${px.toFixed(1)},${py.toFixed(1)}`;
          const [qx, qy] = points[n - 1],
            half = ((px + qx) / 2).toFixed(1);
          return showsRanks
            ? `C${half},${qy.toFixed(1)} ${half},${py.toFixed(1)} ${px.toFixed(1)},${py.toFixed(1)}`
            : `L${px.toFixed(1)},${py.toFixed(1)}`;
        })
        .join("");
      group.append(make("path", { d: path, class: showsRanks ? "line bump" : "line", stroke }));
      ownRows.forEach(([, r], n) =>
        group.append(
          tip(
            make("circle", {
              cx: points[n][0].toFixed(1),
              cy: points[n][1].toFixed(1),
              r: showsRanks ? 4.5 : 3.2,
              fill: stroke,
            }),
            r.tip,
          ),
        ),
      );
      const [first, last] = ends.map((endRows) => endRows[i]);
      if (showsRanks && first)
        group.append(
          text(
            left - 4,
            y(first.y) + 4,
            narrow ? `${first.place ?? first.y}` : `${short(name, side - 34)}  ${first.place ?? first.y}`,
            { class: "name", "text-anchor": "end" },
          ),
        );
      if (last)
        group.append(
          ...(showsRanks
            ? [text(right + 4, y(last.y) + 4, `${last.place ?? last.y}  ${short(name, side - 34)}`, { class: "name" })]
            : [
                line(x(columns.length - 1) + 4, y(last.y), right + 8, labelHeights[1][i], "leader", { stroke }),
                text(right + 11, labelHeights[1][i] + 4, short(name, side - 12), { class: "name" }),
              ]),
        );
      root.append(group);
    });
    return root;
  }

  // A matrix. cells: row, column, value, tip, mark; the colour of a value by options.shade, words in a cell where there is room
  function matrix(place, cells, options) {
    const rows = options.rows,
      columns = options.columns ?? rows,
      called = (row) => options.called?.[row] ?? row,
      headed = (column) => options.headed?.[column] ?? column,
      wide = Math.max(240, widthOf(place)),
      side = Math.min(widest(rows.map(called)) + 10, Math.max(150, options.called ? wide * 0.42 : 0)),
      head = Math.min(110, widest(columns.map(headed)) * 0.8 + 16);
    const isSmall = rows.length <= 8,
      most = isSmall ? 84 : (options.size ?? (wide > 900 ? 60 : 38)),
      size = Math.max(9, Math.min(most, (wide - side - 6) / columns.length)),
      rowHeight = Math.max(13, Math.min(size, isSmall ? 42 : 30));
    const { root } = frame(place, Math.ceil(rowHeight * rows.length + head + 8), options.label),
      at = new Map(rows.map((r, i) => [r, i])),
      over = new Map(columns.map((c, i) => [c, i]));
    const showsWords = Math.max(0, ...cells.map((c) => textWidth(c.words ?? "", "10px system-ui, sans-serif"))) <= size - 3; // all or none
    for (const cell of cells) {
      const [i, j] = [at.get(cell.row), over.get(cell.column)];
      if (i === undefined || j === undefined) continue;
      const fill = options.shade(cell.value),
        box = make("rect", {
          x: (side + j * size).toFixed(1),
          y: (4 + i * rowHeight).toFixed(1),
          width: (size - 1).toFixed(1),
          height: (rowHeight - 1).toFixed(1),
          rx: 2,
          fill: fill.colour,
          "fill-opacity": fill.opacity,
          class: cell.chosen ? "cell chosen" : "cell",
          "data-row": cell.row,
          "data-column": cell.column,
        });
      root.append(tip(box, cell.tip));
      if (showsWords && cell.words)
        root.append(
          text(side + j * size + size / 2 - 0.5, 4 + i * rowHeight + rowHeight / 2 + 3.5, cell.words, {
            class: isSmall ? "cell-words large" : "cell-words",
            "text-anchor": "middle",
            style: `fill:${fill.ink}`,
            "pointer-events": "none",
          }),
        );
    }
    rows.forEach((r, i) =>
      root.append(
        tip(
          text(side - 6, 4 + i * rowHeight + rowHeight / 2 + 4, short(called(r), side - 8), {
            class: `tick${r === options.chosen ? " chosen" : ""}`,
            "text-anchor": "end",
            "data-column": r,
          }),
          called(r),
        ),
      ),
    );
    columns.forEach((c, j) =>
      root.append(
        rotatedText(side + j * size + size / 2 + 3, rowHeight * rows.length + 18, headed(c), {
          class: `tick${c === options.chosen ? " chosen" : ""}`,
          "data-column": c,
        }),
      ),
    );
    return root;
  }
  const mix = (from, to, share) => [0, 1, 2].map((i) => Math.round(from[i] + (to[i] - from[i]) * share));
  // A background colour with black or white text, whichever has more contrast (at least 4.5 to 1).
  function ground(rgb) {
    const [red, green, blue] = rgb.map((v) => ((v / 255 + 0.055) / 1.055) ** 2.4),
      light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    return { colour: `rgb(${rgb.join(" ")})`, ink: light > 0.179 ? "#000000" : "#ffffff" };
  }
  const AMBER = [201, 118, 26],
    DARK_AMBER = [176, 92, 12],
    SAND = [240, 226, 184],
    GREEN = [30, 106, 63];
  const shades = {
    // from disagreement (amber) to the same order (green)
    agreement: (v) => {
      const share = Math.max(0, Math.min(1, (v - 0.5) / 0.5));
      return ground(share < 0.5 ? mix(AMBER, SAND, share * 2) : mix(SAND, GREEN, share * 2 - 1));
    },
    // amber: worse; green: better; more opaque if more significant
    ahead: (v) => {
      const full = ground(v > 0 ? GREEN : DARK_AMBER),
        share = Math.min(1, Math.abs(v));
      return { ...full, opacity: share, ink: share > 0.6 ? full.ink : "var(--ink)" };
    },
  };

  // Points with labels that do not overlap, and the Pareto front. rows: name, x, y, tip
  function points(place, rows, options) {
    const { root, width, height } = frame(place, options.height ?? HEIGHTS.points, options.label),
      mark = marksOf(options);
    const [left, right, top, bottom] = [54, width - 16, 24, height - 42],
      log = rows.map((r) => Math.log10(r.x)),
      [a, b] = span(log, false, 0.09),
      [low, high] = span(
        rows.map((r) => r.y),
        false,
        0.09,
      );
    const x = linear(a, b, left, right),
      y = linear(low, high, bottom, top),
      powers = [];
    for (let e = Math.floor(a) - 1; e <= b; e++)
      for (const m of [1, 2, 5]) if (Math.log10(m) + e >= a && Math.log10(m) + e <= b) powers.push(Math.log10(m) + e);
    const labelled = powers.length > 9 ? powers.filter((p) => Number.isInteger(p)) : powers;
    leftAxis(root, y, ticks(low, high, 5), left, right, options.yTitle);
    bottomAxis(root, x, labelled.length ? labelled : [a, b], left, right, bottom, options.xTitle, (v) =>
      plain(Number((10 ** v).toPrecision(2))),
    );
    const front = rows
      .filter((r) => !rows.some((o) => o !== r && o.x <= r.x && o.y >= r.y && (o.x < r.x || o.y > r.y)))
      .sort((p, q) => p.x - q.x);
    if (front.length > 1)
      root.append(
        tip(
          make("path", {
            d: front
              .map((r, i) =>
                i
                  ? `H${x(Math.log10(r.x)).toFixed(1)}V${y(r.y).toFixed(1)}`
                  : `M${x(Math.log10(r.x)).toFixed(1)},${y(r.y).toFixed(1)}`,
              )
              .join(""),
            class: "front",
          }),
          "Pareto front: no other ranker is both faster and better",
        ),
      );
    const occupied = rows.map((r) => {
      const [px, py] = [x(Math.log10(r.x)), y(r.y)];
      return [px - 6, py - 6, px + 6, py + 6];
    });
    const isFree = (box) =>
      box[0] >= left - 2 &&
      box[2] <= right + 14 &&
      box[1] >= 2 &&
      box[3] <= bottom - 2 &&
      !occupied.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3]);
    for (const r of [...rows].sort((p, q) => front.includes(q) - front.includes(p) || q.y - p.y)) {
      const [px, py] = [x(Math.log10(r.x)), y(r.y)],
        wide = textWidth(r.name, front.includes(r) ? `700 ${FONT}` : FONT),
        stroke = mark(r.name),
        group = make("g", { "data-series": r.name, class: "series" });
      const spots = [];
      for (const distance of [9, 18, 30, 44, 60, 78])
        spots.push(
          [px + distance, py + 4],
          [px - distance - wide, py + 4],
          [px - wide / 2, py - distance],
          [px - wide / 2, py + distance + 9],
          [px + distance * 0.7, py - distance * 0.7],
          [px + distance * 0.7, py + distance * 0.7 + 8],
          [px - distance * 0.7 - wide, py - distance * 0.7],
          [px - distance * 0.7 - wide, py + distance * 0.7 + 8],
        );
      const spot = spots.find(([sx, sy]) => isFree([sx - 1, sy - 11, sx + wide + 1, sy + 3]));
      if (spot) {
        occupied.push([spot[0] - 1, spot[1] - 11, spot[0] + wide + 1, spot[1] + 3]);
        const middle = [Math.max(spot[0], Math.min(px, spot[0] + wide)), Math.max(spot[1] - 9, Math.min(py, spot[1]))];
        if (Math.hypot(middle[0] - px, middle[1] - py) > 13)
          group.append(line(px, py, middle[0], middle[1], "leader", { stroke }));
        group.append(text(spot[0], spot[1], r.name, { class: `name over${front.includes(r) ? " on-front" : ""}` }));
      }
      group.append(tip(make("circle", { cx: px.toFixed(1), cy: py.toFixed(1), r: 5, fill: stroke }), r.tip));
      root.append(group);
    }
    return root;
  }

  // Horizontal bars. rows: name, value, words, tip
  function bars(place, rows, options) {
    const side = Math.min(widest(rows.map((r) => r.name)) + 10, widthOf(place) * 0.45),
      rowHeight = 20,
      { root, width } = frame(place, rows.length * rowHeight + 44, options.label);
    const [low, high] = span(
        rows.map((r) => r.value),
        true,
        0.02,
      ),
      x = linear(low, high, side, width - 62),
      bottom = rows.length * rowHeight + 4;
    bottomAxis(
      root,
      x,
      ticks(low, high, marks(width - 62 - side)),
      side,
      width - 62,
      bottom,
      options.xTitle,
      options.tick ?? plain,
    );
    rows.forEach((r, i) =>
      root.append(
        text(side - 6, i * rowHeight + 17, short(r.name, side - 8), { class: "tick", "text-anchor": "end" }),
        tip(
          make("rect", {
            x: Math.min(x(0), x(r.value)).toFixed(1),
            y: i * rowHeight + 5,
            width: Math.max(1, Math.abs(x(r.value) - x(0))).toFixed(1),
            height: rowHeight - 5,
            rx: 2,
            class: "bar-fill",
            fill: r.colour ?? null,
          }),
          r.tip ?? `${r.name}: ${r.words}`,
        ),
        text(Math.max(x(0), x(r.value)) + 5, i * rowHeight + 17, r.words, { class: "tick" }),
      ),
    );
    return root;
  }

  // Differences by query, from most in favour of A to most in favour of B. rows: difference, tip, key
  function differences(place, rows, options) {
    const { root, width, height } = frame(place, options.height ?? HEIGHTS.differences, options.label),
      [left, right, top, bottom] = [54, width - 10, 22, height - 26];
    const most = Math.max(...rows.map((r) => Math.abs(r.difference)), 1e-9),
      [low, high] = [-1, 1].map((side) => (rows.some((r) => r.difference * side > 0) ? side * most : 0)),
      y = linear(low, high, bottom, top),
      each = (right - left) / Math.max(1, rows.length);
    leftAxis(root, y, ticks(low, high, 4), left, right, options.yTitle);
    rows.forEach((r, i) => {
      if (r.difference)
        root.append(
          make("rect", {
            x: (left + i * each).toFixed(2),
            y: Math.min(y(0), y(r.difference)).toFixed(1),
            width: Math.max(0.6, each - (each > 4 ? 1 : 0)).toFixed(2),
            height: Math.max(1, Math.abs(y(r.difference) - y(0))).toFixed(1),
            class: r.difference > 0 ? "for-a" : "for-b",
          }),
        );
    });
    rows.forEach((r, i) =>
      root.append(
        tip(
          make("rect", {
            x: (left + i * each).toFixed(2),
            y: top,
            width: each.toFixed(2),
            height: bottom - top,
            class: `catch${r.key !== undefined && r.key === options.chosen ? " chosen" : ""}`,
            "data-key": r.key,
          }),
          r.tip,
        ),
      ),
    );
    root.append(
      line(left, y(0), right, y(0), "rule"),
      text((left + right) / 2, height - 8, options.xTitle, { class: "title", "text-anchor": "middle" }),
    );
    return root;
  }

  // Waterfall from one value to another. steps: name, from, to, total, words, tip, key
  function waterfall(place, steps, options) {
    const side = Math.min(widest(steps.map((s) => s.name)) * 1.2 + 14, widthOf(place) * 0.42),
      rowHeight = 28,
      { root, width } = frame(place, steps.length * rowHeight + 44, options.label);
    // Start at 0, so that lengths are proportional, unless the parts would be too small to see.
    const ends = steps.flatMap((s) => (s.total ? [s.to] : [s.from, s.to])),
      fromZero = Math.max(...ends) - Math.min(...ends) > 0.2 * Math.max(...ends.map(Math.abs)),
      [low, high] = span(ends, fromZero, 0.12),
      right = width - 70,
      x = linear(low, high, side, right),
      bottom = steps.length * rowHeight + 4;
    bottomAxis(root, x, ticks(low, high, marks(right - side)), side, right, bottom, options.xTitle);
    steps.forEach((s, i) => {
      const [from, to] = [s.total ? low : s.from, s.to],
        group = make("g", {
          class: `step${s.key !== undefined ? " asks" : ""}${s.key !== undefined && s.key === options.chosen ? " chosen" : ""}`,
          "data-key": s.key,
        });
      group.append(
        make("rect", { x: 0, y: i * rowHeight + 2, width, height: rowHeight, class: "catch" }),
        text(side - 8, i * rowHeight + 20, short(s.name, (side - 10) / 1.2), {
          class: s.total ? "name total" : "name",
          "text-anchor": "end",
        }),
        make("rect", {
          x: Math.min(x(from), x(to)).toFixed(1),
          y: i * rowHeight + 7,
          width: Math.max(1.5, Math.abs(x(to) - x(from))).toFixed(1),
          height: rowHeight - 10,
          rx: 2,
          class: s.total ? "total" : s.to >= s.from ? "for-a" : "for-b",
        }),
        text(Math.max(x(from), x(to)) + 6, i * rowHeight + 20, s.words, { class: "tick" }),
      );
      if (i < steps.length - 1)
        group.append(line(x(s.to), i * rowHeight + rowHeight - 3, x(s.to), (i + 1) * rowHeight + 7, "leader-line"));
      root.append(tip(group, s.tip));
    });
    return root;
  }

  // A point with its interval, and the range over orders of ties in a light colour. rows: name, value, low, high, worst, best, tip
  function intervals(place, rows, options) {
    const small = rows.length > 60,
      rowHeight = small ? 8 : 22,
      side = small ? 8 : Math.min(widest(rows.map((r) => r.name)) + 12, widthOf(place) * 0.42),
      { root, width } = frame(place, rows.length * rowHeight + 44, options.label);
    const [low, high] = span(
        rows.flatMap((r) => [r.value, r.low ?? r.value, r.high ?? r.value, r.worst ?? r.value, r.best ?? r.value]),
        false,
      ),
      x = linear(low, high, side + 4, width - 14),
      bottom = rows.length * rowHeight + 4;
    bottomAxis(root, x, ticks(low, high, 5), side, width - 10, bottom, options.xTitle);
    if (options.zero && low < 0 && high > 0) root.append(line(x(0), 0, x(0), bottom, "zero"));
    rows.forEach((r, i) => {
      const y = i * rowHeight + rowHeight / 2 + 2;
      const group = make(
        "g",
        { class: `interval${r.kind ? ` ${r.kind}` : ""}` },
        make("rect", { x: 0, y: y - rowHeight / 2, width, height: rowHeight, class: "catch" }),
      );
      if (!small)
        group.append(text(side - 8, y + 4, short(r.name, side - 10), { class: "tick", "text-anchor": "end" }));
      if (r.worst !== undefined && r.best > r.worst)
        group.append(
          make("rect", {
            x: x(r.worst).toFixed(1),
            y: y - rowHeight * 0.3,
            width: (x(r.best) - x(r.worst)).toFixed(1),
            height: rowHeight * 0.6,
            class: "ties",
          }),
        );
      if (r.low !== undefined && r.low !== null) group.append(line(x(r.low), y, x(r.high), y, "span"));
      group.append(make("circle", { cx: x(r.value).toFixed(1), cy: y.toFixed(1), r: small ? 2.5 : 4.5, class: "dot" }));
      root.append(tip(group, r.tip));
    });
    return root;
  }

  // Values under many tools: a dot for each, stacked if equal. rows: name, value, tip
  const PILE = 7; // dots per stack
  function piles(rows, x, dot) {
    const stacks = [];
    for (const r of [...rows].sort((p, q) => p.value - q.value)) {
      const last = stacks.at(-1);
      if (last && x(r.value) - x(last.rows[0].value) < dot) last.rows.push(r);
      else stacks.push({ rows: [r], at: x(r.value) });
    }
    for (const pile of stacks) {
      pile.columns = Math.ceil(pile.rows.length / PILE);
      pile.high = Math.ceil(pile.rows.length / pile.columns);
      [pile.wide, pile.tall] = [pile.columns * dot, pile.high * dot];
    }
    stacks.forEach((pile, i) => {
      const before = stacks[i - 1];
      if (before) pile.at = Math.max(pile.at, before.at + (before.wide + pile.wide) / 2 + 2);
    });
    return stacks;
  }
  function spread(place, rows, options) {
    const { root, width, height } = frame(place, options.height ?? HEIGHTS.spread, options.label),
      values = rows.map((r) => r.value),
      x = linear(Math.min(...values), Math.max(...values), 34, width - 34),
      base = height - 24,
      dot = rows.length > 24 ? 11 : 15,
      show = FORMATS[4],
      chosen = rows.find((r) => r.name === options.chosen),
      stacks = piles(rows, x, dot);
    root.append(line(8, base, width - 8, base, "rule"));
    for (const pile of stacks)
      pile.rows.forEach((r, i) => {
        const across = Math.floor(i / pile.high) - (pile.columns - 1) / 2,
          same = chosen && show(r.value) === show(chosen.value),
          kind = `${same ? "for-a" : "for-b"}${r === chosen ? " chosen" : ""}`;
        const mark = make("circle", {
          cx: (pile.at + across * dot).toFixed(1),
          cy: base - dot / 2 - 2 - (i % pile.high) * dot,
          r: dot * 0.42,
          class: `dot ${kind}`,
          "data-column": r.name,
        });
        root.append(tip(mark, r.tip));
      });
    namePiles(root, stacks, base, width, options.chosen, show);
    return root;
  }
  // Name and value of each stack where there is space: the selected one first, then both ends.
  function namePiles(root, stacks, base, width, chosen, show) {
    const occupied = stacks.map((p) => [p.at - p.wide / 2, base - p.tall - 2, p.at + p.wide / 2, base]),
      isFree = (box) => !occupied.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3]),
      hasChosen = (pile) => pile.rows.some((r) => r.name === chosen),
      order = [...new Set([...stacks.filter(hasChosen), stacks[0], stacks.at(-1), ...stacks])];
    const put = (words, at, y, more) => {
      const half = textWidth(words) / 2 + 3,
        middle = Math.max(half, Math.min(width - half, at)),
        box = [middle - half, y - 11, middle + half, y + 3];
      if (!isFree(box)) return;
      occupied.push(box);
      root.append(text(middle, y, words, { "text-anchor": "middle", ...more }));
    };
    for (const pile of order) {
      const [low, high] = [pile.rows[0], pile.rows.at(-1)].map((r) => show(r.value)),
        first = hasChosen(pile) ? chosen : pile.rows[0].name,
        remaining = pile.rows.length - 1,
        mark = hasChosen(pile) ? " chosen" : "";
      put(low === high ? low : `${low}–${high}`, pile.at, base + 16, { class: `name${mark}` });
      put(remaining ? `${first} +${remaining}` : first, pile.at, base - pile.tall - 8, { class: `tick${mark}` });
    }
  }

  const KINDS = { lines, across, matrix, points, bars, differences, waterfall, intervals, spread };
  // Draw into a container and keep the rows, which can be saved.
  function draw(place, kind, rows, options) {
    listen(place);
    place.figure = { kind, rows, options };
    place.style.minHeight = "";
    if (rows.length) place.replaceChildren(KINDS[kind](place, rows, options));
    else place.innerHTML = '<p class="empty">No values for this selection.</p>';
  }
  return { draw, estimateHeight, shades, colour, FORMATS, make, separate };
})();
