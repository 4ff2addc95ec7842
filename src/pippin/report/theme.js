// Light or dark: the reader's own, unless one was chosen. Figures name the page's colours, so they follow by themselves.
const theme = {
  system: matchMedia("(prefers-color-scheme: dark)"),
  chosen: null,
  apply() { document.documentElement.dataset.theme = this.chosen ?? (this.system.matches ? "dark" : "light"); },
  choose(name) { this.chosen = name; this.apply(); },
  flip() { this.choose(document.documentElement.dataset.theme === "dark" ? "light" : "dark"); },
};
theme.system.addEventListener("change", () => theme.apply());
theme.apply();
const INK = "var(--ink)", DIM = "var(--dim)", LINE = "var(--line)";
const VEGA_CONFIG = {
  background: "transparent", font: "system-ui", view: { stroke: null }, title: { color: INK },
  axis: { labelColor: DIM, titleColor: DIM, titleFontWeight: "normal", gridColor: LINE, domainColor: LINE, tickColor: LINE },
  legend: { labelColor: INK, titleColor: DIM, titleFontWeight: "normal" }, header: { labelColor: INK, titleColor: INK },
  text: { color: INK },
};
const embed = (target, spec) => vegaEmbed(target, spec, { actions: false, config: VEGA_CONFIG, renderer: "svg" })
  .catch(error => { document.body.dataset.error = error; });
