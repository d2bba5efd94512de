// To the language that the browser asks for first.
"use strict";
const asked = navigator.languages.find((name) => /^(en|fr)\b/.test(name)) || "en";
location.replace(`${asked.slice(0, 2)}/index.html`);
