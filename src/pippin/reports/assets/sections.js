// A page of sections: figures are drawn at once, and again if their width changes.
const drawAgain = (root) => {
  for (const place of root.querySelectorAll("[data-figure]")) {
    const { kind, rows, options } = place.figure;
    charts.draw(place, kind, rows, options);
  }
};
addEventListener("DOMContentLoaded", () => {
  showPieces(document, FIGURES);
  for (const part of document.querySelectorAll("section > details"))
    part.addEventListener("toggle", () => part.open && drawAgain(part));
  document.body.dataset.ready = "yes";
});
let width = innerWidth;
addEventListener("resize", () => {
  if (Math.abs(innerWidth - width) <= 40) return;
  width = innerWidth;
  drawAgain(document);
});
