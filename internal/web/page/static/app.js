// flowrun: live updates, copy buttons and counting times. Every page works
// without this file.
"use strict";
(() => {
  const main = document.getElementById("main"), mark = document.getElementById("live");
  let source = null, over = false;

  // morph makes one tree like another and keeps what the reader has done: open
  // details, what is typed, what has the focus, what is scrolled.
  function morph(from, to) {
    if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName) return from.replaceWith(to);
    if (from.nodeType !== 1) {
      if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
      return;
    }
    if (from.isEqualNode(to)) return;
    const typed = from.matches("input,select,textarea,option");
    for (const { name } of [...from.attributes])
      if (!to.hasAttribute(name) && name !== "open" && name !== "hidden") from.removeAttribute(name);
    for (const { name, value } of [...to.attributes])
      if (from.getAttribute(name) !== value && name !== "open" && !(typed && (name === "value" || name === "checked" || name === "selected")))
        from.setAttribute(name, value);
    if (from.nodeName === "TEXTAREA") return;
    children(from, to);
  }

  function children(from, to) {
    const known = new Map();
    for (const node of from.children) if (node.id) known.set(node.id, node);
    let at = from.firstChild;
    for (const next of [...to.childNodes]) {
      const same = next.nodeType === 1 && next.id ? known.get(next.id) : null;
      if (same) {
        if (same !== at) from.insertBefore(same, at);
        else at = at.nextSibling;
        morph(same, next);
      } else if (at && !(at.nodeType === 1 && at.id && to.querySelector("#" + CSS.escape(at.id)))) {
        const old = at;
        at = at.nextSibling;
        morph(old, next);
      } else from.insertBefore(next, at);
    }
    while (at) {
      const old = at;
      at = at.nextSibling;
      old.remove();
    }
  }

  // What is sent of a page is what differs from the one before: texts that are new,
  // and pairs of numbers, which are so many of its pieces from one on.
  let pieces = [];
  const cut = (html) => html.split(/(?=<)/);
  function joined(changes) {
    const next = [];
    for (let i = 0; i < changes.length; i++) {
      const text = typeof changes[i] === "string";
      for (const piece of text ? cut(changes[i]) : pieces.slice(changes[i], changes[i] + changes[i + 1])) next.push(piece);
      if (!text) i++;
    }
    return next;
  }

  function show(title, next) {
    const parsed = new DOMParser().parseFromString("<main>" + next.join("") + "</main>", "text/html");
    const token = document.querySelector("input[name=csrf]")?.value ?? "";
    for (const input of parsed.querySelectorAll("input[name=csrf]")) input.setAttribute("value", token);
    pieces = next;
    document.title = title;
    children(main, parsed.querySelector("main"));
    dress();
  }

  const say = (html, text) => {
    if (mark.firstElementChild?.localName === html && mark.textContent === text) return;
    const node = document.createElement(html);
    node.textContent = text;
    if (html === "a") node.href = location.href;
    mark.replaceChildren(node);
  };

  // How old is what is shown? Each message tells of which time it is by the server's
  // clock, which is behind this one by what the fastest of them took at most.
  let asOf = null, behind = Infinity, lost = null;
  function current(at) {
    behind = Math.min(behind, performance.now() - at);
    asOf = at;
    lost = null;
    age();
  }
  function age() {
    if (!source && !lost) return;
    if (lost) return say("a", "not connected since " + lost.toLocaleTimeString());
    if (asOf === null) return;
    const s = (performance.now() - behind - asOf) / 1000;
    if (s < 3) return say("b", "live");
    say("b", (s < 10 ? Math.floor(s) : s < 60 ? Math.floor(s / 5) * 5 : Math.floor(s / 60) * 60) + " s behind");
  }

  function take(event, next) {
    const message = JSON.parse(event.data);
    show(message.title, next(message));
    current(message.at);
    fetch("/ui/seen?id=" + event.lastEventId, { cache: "no-store" }).catch(() => {});
  }

  function follow() {
    if (source || over || document.hidden || !("live" in document.body.dataset)) return;
    const stream = (source = new EventSource("/ui/stream?seen=1&path=" + encodeURIComponent(location.pathname + location.search)));
    stream.addEventListener("screen", (event) => take(event, (message) => cut(message.main)));
    stream.addEventListener("change", (event) => take(event, (message) => joined(message.parts)));
    stream.addEventListener("now", (event) => current(Number(event.data)));
    stream.addEventListener("end", () => {
      over = true;
      stream.close();
      source = lost = null;
      say("span", "up to date");
    });
    stream.addEventListener("error", () => {
      lost ??= new Date();
      age();
      if (stream.readyState !== EventSource.CLOSED || source !== stream) return;
      source = null;
      setTimeout(follow, 10000);
    });
  }

  // A browser has few connections to one server: pages that nobody sees give
  // theirs back.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) return follow();
    source?.close();
    source = null;
  });

  // Buttons that need a script are shown by it.
  function dress() {
    for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
    count();
  }

  const units = [[86400, "days", 2], [3600, "h", 1], [60, "min", 1], [1, "s", 1]];
  function distance(s) {
    if (s < 1) return "now";
    if (s < 60) return Math.floor(s) + "s";
    for (const [size, unit, least] of units) if (s >= size * least) return Math.floor(s / size) + " " + unit;
  }
  function took(s) {
    const two = (n) => String(Math.floor(n)).padStart(2, "0");
    if (s < 60) return s < 10 ? s.toFixed(1) + "s" : Math.floor(s) + "s";
    if (s < 3600) return Math.floor(s / 60) + "m" + two(s % 60) + "s";
    return Math.floor(s / 3600) + "h" + two((s % 3600) / 60) + "m";
  }
  const left = (s) => (s < 1 ? "ended" : Math.floor(s / 60) + ":" + String(Math.floor(s % 60)).padStart(2, "0"));
  // The server's clock may be another one than the reader's.
  const shift = Date.now() - Number(document.body.dataset.now || Date.now());
  function count() {
    const now = Date.now() - shift;
    for (const node of document.querySelectorAll("time[data-ago]")) {
      const s = (now - Date.parse(node.dateTime)) / 1000, text = distance(Math.abs(s));
      node.textContent = text === "now" ? text : s > 0 ? text + " ago" : "in " + text;
    }
    for (const node of document.querySelectorAll("[data-since]"))
      node.textContent = took(Math.max(0, (now - Number(node.dataset.since)) / 1000));
    for (const node of document.querySelectorAll("[data-until]"))
      node.textContent = left((Number(node.dataset.until) - now) / 1000);
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) {
      for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
      return;
    }
    const label = button.querySelector("span"), text = button.previousElementSibling.textContent;
    try {
      await navigator.clipboard.writeText(text);
      label.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
      label.textContent = "Selected";
    }
    setTimeout(() => (label.textContent = "Copy"), 1500);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });

  dress();
  setInterval(() => (count(), age()), 1000);
  follow();
})();
