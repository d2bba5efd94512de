// On every page: the other language at the same place, and all numbers in print.
"use strict";

// A place is the heading above the upper edge of the window, how far it is from there, and which
// folded parts are open: it means the same in both languages, where texts differ in length.
const place = {
  headings: () => [...document.querySelectorAll("h1, h2[id], h3")],
  folds: () => [...document.querySelectorAll("details")],

  now() {
    const headings = this.headings();
    let above = 0;
    headings.forEach((heading, number) => {
      if (heading.getBoundingClientRect().top <= 8) above = number;
    });
    const offset = Math.round(headings[above].getBoundingClientRect().top);
    const open = this.folds().flatMap((fold, number) => (fold.open ? [number] : []));
    return [above, offset, ...open].join(".");
  },

  go(written) {
    const [above, offset, ...open] = written.split(".").map(Number);
    this.folds().forEach((fold, number) => { fold.open = open.includes(number); });
    const heading = this.headings()[above];
    if (heading) window.scrollBy(0, heading.getBoundingClientRect().top - offset);
  },
};

// What a page keeps in its address, after "#?": the list keeps its search there.
const kept = {
  read: () => new URLSearchParams(location.hash.startsWith("#?") ? location.hash.slice(2) : ""),
  write(words) {
    const text = words.toString();
    history.replaceState(null, "", text ? `#?${text}` : location.pathname);
  },
};

const language = document.getElementById("language");
language.addEventListener("click", () => {
  const words = kept.read();
  words.set("at", place.now());
  language.href = `${language.getAttribute("href").split("#")[0]}#?${words}`;
});

window.addEventListener("DOMContentLoaded", () => {
  const words = kept.read();
  if (words.has("at")) {
    const written = words.get("at");
    words.delete("at");
    kept.write(words);
    place.go(written);
  }
});

let closed = [];
window.addEventListener("beforeprint", () => {
  closed = place.folds().filter((fold) => !fold.open);
  closed.forEach((fold) => { fold.open = true; });
});
window.addEventListener("afterprint", () => {
  closed.forEach((fold) => { fold.open = false; });
});
