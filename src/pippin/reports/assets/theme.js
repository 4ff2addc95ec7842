// Light or dark: the reader's own, unless one was chosen. Figures name the page's colours, so they follow by themselves.
const theme = {
  system: matchMedia("(prefers-color-scheme: dark)"),
  chosen: null,
  apply() {
    document.documentElement.dataset.theme = this.chosen ?? (this.system.matches ? "dark" : "light");
  },
  choose(name) {
    this.chosen = name;
    this.apply();
  },
  flip() {
    this.choose(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  },
};
theme.system.addEventListener("change", () => theme.apply());
theme.apply();
