// What a page must keep for everybody: names for controls, contrast, an order of
// headings, no sideways scrolling, a focus that is seen. Returns one line for
// each fault.
(() => {
  const faults = [];
  const say = (what, e) => faults.push(what + ": " + (e ? e.outerHTML.replace(/\s+/g, " ").slice(0, 160) : ""));
  const seen = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  // Names.
  const name = (e) => {
    const by = e.getAttribute("aria-labelledby");
    const parts = [e.getAttribute("aria-label"), by && by.split(" ").map((id) => document.getElementById(id)?.textContent).join(" "),
      ...[...(e.labels || [])].map((l) => l.textContent), e.textContent, e.getAttribute("title"), e.querySelector?.("title")?.textContent];
    return parts.find((p) => p && p.trim()) || "";
  };
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!(e.labels?.length || e.getAttribute("aria-label"))) say("a control without a label", e);
  }
  for (const e of document.querySelectorAll("a[href], button, summary, [role=img], meter, table, [role=region]"))
    if (e.tagName !== "TABLE" && !name(e).trim()) say("no name", e);
  for (const e of document.querySelectorAll("img")) if (!e.hasAttribute("alt")) say("an image without alt", e);
  for (const e of document.querySelectorAll("[aria-describedby], [aria-labelledby], [aria-controls], label[for]"))
    for (const attr of ["aria-describedby", "aria-labelledby", "aria-controls", "for"])
      for (const id of (e.getAttribute(attr) || "").split(" ").filter(Boolean))
        if (!document.getElementById(id)) say(attr + " names nothing (" + id + ")", e);

  // Structure.
  const ids = new Set();
  for (const e of document.querySelectorAll("[id]")) {
    if (ids.has(e.id)) say("the id stands twice (" + e.id + ")", e);
    if (/\s/.test(e.id)) say("an id with a blank", e);
    ids.add(e.id);
  }
  if (document.querySelectorAll("h1").length !== 1) say(document.querySelectorAll("h1").length + " headings of the first level");
  let level = 0;
  for (const e of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const own = Number(e.tagName[1]);
    if (level && own > level + 1) say("a heading skips a level", e);
    level = own;
  }
  if (!document.documentElement.lang) say("no language");
  if (!document.title.trim()) say("no title");
  if (document.querySelectorAll("main").length !== 1) say("not one main");
  if (document.querySelector("nav") && !document.querySelector("a.skip[href='#main']")) say("no link that skips to the content");
  for (const e of document.querySelectorAll("[style], style")) if (!e.closest("svg defs")) say("a style in the page", e);
  for (const e of document.querySelectorAll("script")) if (!e.src) say("a script in the page", e);
  for (const e of document.querySelectorAll("[onclick], [onchange], [onload], [onsubmit]")) say("a handler in the page", e);
  for (const e of document.querySelectorAll("ul, ol")) for (const c of e.children) if (!["LI", "TEMPLATE", "SCRIPT"].includes(c.tagName)) say("not an item of a list", c);
  for (const e of document.querySelectorAll("[tabindex]")) if (Number(e.getAttribute("tabindex")) > 0) say("an order of its own", e);
  for (const e of document.querySelectorAll("form[method=post]:not([action='/login'])")) if (!e.querySelector("[name=csrf]")) say("a form without its token", e);

  // Width.
  if (document.documentElement.scrollWidth > innerWidth) {
    const wide = [...document.querySelectorAll("main *, header *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && seen(e) && !e.closest(".scroll, pre, nav, svg"));
    say("the page scrolls sideways (" + document.documentElement.scrollWidth + " of " + innerWidth + ")", wide.at(-1));
  }
  // What scrolls can be reached with the keyboard.
  for (const e of document.querySelectorAll("pre, .scroll"))
    if (e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0 && !e.querySelector("a[href], button, input, select, textarea")) say("it scrolls, and the keyboard can't", e);

  // Contrast. Colours are painted, so that any way of writing them counts.
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = "#000";
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const ground = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), rgba(matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#fff"));
  };
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const told = new Set();
  let texts = 0;
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !seen(e) || ["OPTION", "SCRIPT", "NOSCRIPT", "TITLE", "DESC"].includes(e.tagName.toUpperCase()) || e.closest(".sr, .skip, [disabled]")) continue;
    const style = getComputedStyle(e), svg = e.closest("svg");
    let behind = ground(e);
    if (svg) { // the box that a graph's text stands on
      const box = e.closest("g.step, g.pill, g.tag")?.querySelector(":scope > rect");
      const fill = box && getComputedStyle(box).fill;
      if (fill && fill !== "none") behind = over(rgba(fill), behind);
    }
    const text = over(rgba(svg ? style.fill : style.color), behind);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const got = contrast(text, behind), want = large ? 3 : 4.5;
    texts++;
    const key = style.color + style.fill + behind + e.className;
    if (got < want && !told.has(key)) {
      told.add(key);
      say("contrast " + got.toFixed(2) + " of \"" + walker.currentNode.textContent.trim().slice(0, 30) + "\"", e);
    }
  }
  if (texts < 3) say("only " + texts + " texts were looked at");
  // The edge of a control is seen too.
  for (const e of document.querySelectorAll("main input:not([type=hidden]):not([type=checkbox]):not([type=radio]), main select, main textarea")) {
    if (!seen(e)) continue;
    const got = contrast(over(rgba(getComputedStyle(e).borderTopColor), ground(e.parentElement)), ground(e.parentElement));
    if (got < 3) say("the edge has a contrast of " + got.toFixed(2), e);
    if (!e.placeholder) continue;
    const behind = over(rgba(getComputedStyle(e).backgroundColor), ground(e.parentElement)), hint = getComputedStyle(e, "::placeholder");
    const colour = rgba(hint.color), read = contrast(over([...colour.slice(0, 3), colour[3] * Number(hint.opacity)], behind), behind);
    if (read < 4.5) say("contrast " + read.toFixed(2) + " of the placeholder", e);
  }

  // Focus.
  const before = document.activeElement;
  for (const e of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")) {
    if (!seen(e) || e.disabled || e.closest("svg")) continue;
    e.focus({ focusVisible: true, preventScroll: true });
    if (document.activeElement !== e) { say("it takes no focus", e); continue; }
    const style = getComputedStyle(e);
    if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) say("the focus is not seen", e);
    else if (contrast(over(rgba(style.outlineColor), ground(e.parentElement)), ground(e.parentElement)) < 3) say("the focus is hardly seen", e);
  }
  before?.focus?.();
  // Sizes for fingers (WCAG 2.2, 2.5.8: 24 pixels, inline links excepted).
  for (const e of document.querySelectorAll("main button, main select, main input:not([type=hidden]):not([type=checkbox]):not([type=radio]), main a.button")) {
    const box = e.getBoundingClientRect();
    if (seen(e) && (box.height < 24 || box.width < 24) && !e.matches(".link")) say("it is only " + Math.round(box.width) + " by " + Math.round(box.height), e);
  }
  return faults;
})()
