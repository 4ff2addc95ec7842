// Additions to pages that work without scripts: theme, filter, copy buttons, and updates without reloading.
const select = (selector) => document.querySelector(selector);

const button = select("#theme");
if (button) {
  button.hidden = false;
  button.addEventListener("click", () => theme.flip());
}

for (const copy of document.querySelectorAll("[data-copy]")) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent);
    copy.textContent = "Copied";
  });
}

const filter = select("#filter");
function filterRows() {
  const words = filter.value.trim().toLowerCase();
  let matches = 0;
  for (const row of document.querySelectorAll("#board tbody tr")) {
    row.hidden = !row.dataset.words.includes(words);
    matches += row.hidden ? 0 : 1;
  }
  select("#none").hidden = matches > 0;
}
if (filter && select("#board")) {
  filter.closest("label").hidden = false;
  filter.addEventListener("input", filterRows);
}

// Fetch the current page in the background; null if the server does not respond.
async function fetchPage() {
  try {
    const response = await fetch(location.href, { credentials: "same-origin" });
    return response.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
  } catch {
    return null;
  }
}

function poll(seconds, look) {
  setInterval(() => {
    if (!document.hidden) look();
  }, seconds * 1000);
}

if (select("#board[data-live=open]"))
  poll(5, async () => {
    const fresh = await fetchPage();
    for (const selector of ["#board tbody", ".finding", "#board thead"]) {
      const now = select(selector),
        next = fresh?.querySelector(selector);
      if (now && next && now.innerHTML !== next.innerHTML && !now.contains(document.activeElement))
        now.innerHTML = next.innerHTML;
    }
    if (filter) filterRows();
  });

const waits = select("[data-waits]");
if (waits)
  poll(1, async () => {
    const next = (await fetchPage())?.querySelector(".finding");
    if (next && next.dataset.waits !== waits.dataset.waits) location.reload();
  });

document.body.dataset.ready = "";
