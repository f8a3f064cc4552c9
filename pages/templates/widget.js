/* <marginalia-comments product="1">: a product's comments on a shop's own page. docs/front-ends.md describes its
   attributes, parts, variables and events.

   The element requests the comments by a GET that is the same for all visitors, so that a CDN can answer it. It
   neither sets nor sends cookies. It inserts comments as text, never as HTML. After an error it sends nothing
   until the visitor presses "Try again". */
(() => {
  "use strict";
  const { ids: IDS, document: DOCUMENT, messages: MESSAGES, photos: PHOTO_ORIGINS, aspects: ASPECTS } = "WIDGET";
  // In a module, document.currentScript is null.
  const ours = ({ src }) => /\/widget\.js([?#]|$)/.test(src);
  const script = document.currentScript ?? [...document.scripts].find(ours);
  const ROOT = script ? script.src.replace(/\/widget\.js.*/, "") : "";

  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    :host { display: block; font: inherit; color: inherit; }
    :host([hidden]) { display: none; }
    p, ul, ol { margin: 0; padding: 0; }
    ul, ol { list-style: none; }
    a { color: var(--marginalia-accent, inherit); }
    li.comment { border-block-start: 1px solid var(--marginalia-line, #8886); padding-block: 1em; }
    .summary { align-items: center; display: flex; flex-wrap: wrap; gap: 1em 2.5em; margin-block-end: 1.25em; }
    .average { font-size: 2.5em; font-weight: bold; line-height: 1; }
    .histogram { flex: 1 1 14em; max-inline-size: 24em; }
    .histogram li > span { align-items: center; display: grid; gap: 0.6em; grid-template-columns: 2.2em 1fr 3.5em; }
    .histogram b { font-weight: inherit; }
    .histogram b:last-child { text-align: end; }
    .bar { background: var(--marginalia-line, #8886); block-size: 0.55em; border-radius: 1em; overflow: hidden; }
    .bar i { background: var(--marginalia-star, #b8740f); block-size: 100%; display: block; }
    .stars { color: var(--marginalia-star, #b8740f); display: inline-block; position: relative; white-space: nowrap; }
    .stars::before { content: "☆☆☆☆☆"; }
    .stars i { inset-block: 0; inset-inline-start: 0; overflow: hidden; position: absolute; }
    .stars i::before { content: "★★★★★"; font-style: normal; }
    .faint { color: var(--marginalia-faint, inherit); font-size: 0.875em; margin-block: 0.25em;
      overflow-wrap: anywhere; }
    .text { overflow-wrap: anywhere; white-space: pre-line; }
    .aspects { display: flex; flex-wrap: wrap; gap: 0.25em 1.5em; }
    .summary > .aspects { flex-basis: 100%; }
    .photos { display: flex; flex-wrap: wrap; gap: 0.5em; margin-block: 0.5em; }
    img { block-size: 5em; border-radius: var(--marginalia-radius, 0.4em); display: block; inline-size: 5em;
      object-fit: cover; }
    .reply { border-inline-start: 3px solid var(--marginalia-line, #8886); margin-block-start: 0.75em;
      padding-inline-start: 1em; }
    .ways { align-items: center; display: flex; flex-wrap: wrap; gap: 0.75em 1em; margin-block-start: 1em; }
    .ways:empty { display: none; }
    [role="alert"]:not(:empty) { border-inline-start: 3px solid; margin-block-start: 1em; padding-inline-start: 0.75em; }
    .button { background: ButtonFace; border: 1px solid currentColor; border-radius: var(--marginalia-radius, 0.4em);
      box-sizing: border-box; color: ButtonText; cursor: pointer; display: inline-block; font: inherit;
      line-height: 1.4; min-block-size: 2.75em; padding: 0.6em 1.1em; text-decoration: none; }
    .button[aria-busy="true"] { cursor: progress; opacity: 0.7; }
    .vote { background: none; border-color: var(--marginalia-line, #8886); color: inherit; }
    .vote[aria-pressed="true"] { border-color: currentColor; font-weight: bold; }
    .vote[aria-pressed="true"]::before { content: "✓ "; }
    /* White and black have the same contrast to the luminance 0.179. A darker colour gets a white label, and a
       lighter colour a black one, so the contrast is at least 4.58 (the formulas are in WCAG 2.2). */
    @supports (color: color(from red srgb-linear r g b)) {
      .button:not(.vote) { --fill: var(--marginalia-button, var(--marginalia-accent, #3f3f46));
        --label: clamp(0, (0.179 - 0.2126 * r - 0.7152 * g - 0.0722 * b) * 100000, 1);
        background: var(--fill); border-color: color-mix(in srgb, var(--fill), currentColor 30%);
        color: color(from var(--fill) srgb-linear var(--label) var(--label) var(--label)); }
    }
    @media (forced-colors: active) {
      .bar { border: 1px solid; }
      .bar i { background: CanvasText; forced-color-adjust: none; }
    }`);

  /* Returns an element with attributes and children. The attribute "part" also names the element's classes. */
  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (attributes.part) made.className = attributes.part;
    made.append(...children);
    return made;
  }

  /* Returns an element of this share of its parent's width. The CSP of a shop may forbid attributes "style". */
  function filled(share) {
    const made = element("i", {});
    made.style.inlineSize = `${share * 100}%`;
    return made;
  }

  const listed = (text) => (text || "").split(/\s+/).filter(Boolean);

  /* Returns the language of a tag with its region; null for an invalid tag, for which Intl throws. */
  function locale(tag) {
    try {
      return new Intl.Locale(tag);
    } catch {
      return null;
    }
  }

  /* Returns labels and formats in a language, or in English if the widget does not have the language. */
  function speech(tag) {
    const base = tag.split(/[-_]/)[0].toLowerCase();
    const words = MESSAGES[base] || MESSAGES.en;
    const speaks = !MESSAGES[base] ? "en" : locale(tag) ? tag : base;
    // Dates have the format of the visitor's region, such as day before month for a visitor from Britain.
    const region = locale(navigator.language)?.region;
    const home = region ? `${speaks.split("-")[0]}-${region}` : speaks === "en" ? "en-001" : speaks;
    const days = new Intl.DateTimeFormat(home, { dateStyle: "long", timeZone: "UTC" });
    const plurals = new Intl.PluralRules(speaks);
    const number = (value, digits = 0) =>
      value.toLocaleString(speaks, { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return {
      words,
      base: MESSAGES[base] ? base : "en",
      speaks,
      number,
      day: (instant) => days.format(new Date(instant)),
      /* Fills a plural form. Some lack rare categories, such as that of millions in French: use "other". */
      counted: (forms, count) =>
        (forms[plurals.select(count)] ?? forms.other).replace("%(count)s", number(count)),
      stars: (rating, digits) =>
        element(
          "span",
          { part: "stars", role: "img", "aria-label": words.stars.replace("%(rating)s", number(rating, digits)) },
          filled(rating / 5),
        ),
    };
  }

  class MarginaliaComments extends HTMLElement {
    static observedAttributes = ["product", "size", "rating", "language", "lang", "write", "server"];

    #token = null;
    #read = 0;
    #due = false;

    /* A function that returns the customer's JWT, or a promise of it. With a JWT, the customer can vote. */
    get token() {
      return this.#token;
    }

    set token(given) {
      this.#token = given;
      this.#showSoon();
    }

    connectedCallback() {
      if (Object.hasOwn(this, "token")) {
        // The page has set it before the script defined the element.
        const { token } = this;
        delete this.token;
        this.#token = token;
      }
      if (!this.shadowRoot) {
        this.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet];
        this.shadowRoot.append(element("slot", {}));
      }
      this.#showSoon();
    }

    attributeChangedCallback(name, before, after) {
      if (before !== after) this.#showSoon();
    }

    /* Shows the comments after the page has set all attributes, so that several changes send one request. */
    #showSoon() {
      if (this.#due || !this.shadowRoot || !this.isConnected) return;
      this.#due = true;
      queueMicrotask(() => {
        this.#due = false;
        this.#show();
      });
    }

    get #root() {
      return (this.getAttribute("server") ?? ROOT).replace(/\/$/, "");
    }

    /* Reads the first page of comments, and replaces the element's content by it. */
    async #show() {
      const spoken = speech(this.closest("[lang]")?.lang || navigator.language);
      const { words, speaks } = spoken;
      const section = element("section", { part: "widget", lang: speaks, dir: speaks.startsWith("ar") ? "rtl" : "ltr" });
      let product;
      try {
        product = await this.#page(null);
      } catch {
        const again = element("button", { type: "button", part: "button again" }, words.again);
        again.addEventListener("click", () => this.#show());
        section.append(
          element("p", { part: "error", role: "alert" }, words.failed),
          element("p", { part: "ways" }, again),
        );
        this.shadowRoot.replaceChildren(element("slot", {}), section);
        return;
      }
      if (!product) return;
      this.#fill(section, product, spoken);
      this.shadowRoot.replaceChildren(section);
      const { total = null, average = null } = product.statistics ?? {};
      this.#tell("load", { product: this.getAttribute("product"), total, average });
    }

    #tell(name, detail) {
      this.dispatchEvent(new CustomEvent(`marginalia-${name}`, { bubbles: true, detail }));
    }

    /* Returns the product with one page of comments; null if a newer request has begun meanwhile. Throws an error if
       this request, which is still the newest, fails. */
    async #page(after) {
      const read = (this.#read += 1);
      const size = Number(this.getAttribute("size")) || 5;
      const ratings = listed(this.getAttribute("rating")).map(Number);
      const languages = listed(this.getAttribute("language"));
      const variables = {
        productId: this.getAttribute("product") || "",
        first: Math.min(Math.max(Math.trunc(size), 1), 20),
        ...(after && { after }),
        ...(ratings.length && { rating: ratings }),
        ...(languages.length && { language: languages }),
      };
      const send = (named) => {
        const query = new URLSearchParams({ ...named, variables: JSON.stringify(variables) });
        return this.#send(`?${query}`, {});
      };
      try {
        let answer = await send({ documentId: IDS.read });
        // During an update, the server may have the document of another release: send the text.
        if (answer.errors?.[0].extensions?.code === "NOT_FOUND") answer = await send({ query: DOCUMENT });
        if (read !== this.#read) return null;
        if (answer.errors) throw new Error(answer.errors[0].message);
        return answer.data.product;
      } catch (error) {
        if (read !== this.#read) return null;
        console.error(`marginalia-comments: ${error.message}`);
        this.#tell("error", { message: error.message });
        throw error;
      }
    }

    async #send(query, options) {
      const headers = { ...options.headers, Accept: "application/graphql-response+json" };
      const response = await fetch(`${this.#root}/graphql${query}`, { ...options, headers, credentials: "omit" });
      return response.json();
    }

    /* Sends a document with the customer's JWT. Returns null if the customer is not signed in. */
    async #sendSigned(documentId, variables) {
      const jwt = await this.#token?.();
      if (!jwt) return null;
      const { data, errors } = await this.#send("", {
        method: "POST",
        headers: { Authorization: `Bearer ${jwt}`, "Content-Type": "application/json" },
        body: JSON.stringify({ documentId, variables }),
      });
      if (errors) throw new Error(errors[0].message);
      return data;
    }

    #fill(section, { statistics, comments }, spoken) {
      const { words, counted, number } = spoken;
      const list = element("ol", { part: "list" });
      const failed = element("p", { part: "error", role: "alert" });
      const ways = element("p", { part: "ways" });
      const all = `${this.#root}/products/${encodeURIComponent(this.getAttribute("product") || "")}`;
      const write = this.getAttribute("write");
      const add = ({ nodes, pageInfo }) => {
        const rows = nodes.map((one) => this.#row(one, spoken));
        list.append(...rows);
        failed.textContent = "";
        ways.replaceChildren(element("a", { part: "all", href: all }, words.all));
        this.#offerVotes(nodes, rows, spoken);
        if (!pageInfo.hasNextPage) return rows;
        const more = element("button", { type: "button", part: "button more" }, words.more);
        more.addEventListener("click", async () => {
          if (more.ariaBusy === "true") return;
          more.ariaBusy = "true";
          try {
            const product = await this.#page(pageInfo.endCursor);
            if (product) add(product.comments)[0]?.focus();
          } catch {
            more.textContent = words.again;
            failed.textContent = words.failed;
          }
          more.ariaBusy = null;
        });
        ways.prepend(more);
        return rows;
      };
      const summary = element("div", { part: "summary" });
      if (statistics && statistics.average !== null) {
        const { total, average, histogram, aspects } = statistics;
        const rated = aspects.filter((one) => one.average !== null);
        const bars = histogram.map(({ rating, count }) =>
          element(
            "li",
            {},
            element(
              "span",
              { role: "img", "aria-label": `${counted(words.ratings, rating)}: ${counted(words.counts, count)}` },
              element("b", {}, `${number(rating)} ★`),
              element("span", { part: "bar" }, filled(count / total)),
              element("b", {}, number(count)),
            ),
          ),
        );
        summary.append(
          element("strong", { part: "average" }, number(average, 1)),
          element("span", {}, spoken.stars(average, 1), element("br", {}), counted(words.counts, total)),
          element("ul", { part: "histogram" }, ...bars),
        );
        if (rated.length) {
          const averages = rated.map((one) => ({ name: one.name, rating: one.average }));
          summary.append(this.#aspects(averages, spoken, 1));
        }
      }
      if (!comments.nodes.length) summary.append(element("p", { part: "none" }, words.none));
      if (write) summary.append(element("a", { part: "button write", href: write }, words.write));
      section.append(summary, list, failed, ways);
      if (comments.nodes.length) add(comments);
    }

    /* Returns a comment as an item of the list. */
    #row(one, spoken) {
      const { words, day, stars, number } = spoken;
      const marked = { dir: "auto", lang: one.language };
      const facts = [element("bdi", { part: "author" }, one.authorName), day(one.createdAt)];
      if (one.verifiedPurchase) facts.push(element("span", { part: "verified" }, words.verified));
      if (one.source === "IMPORT") facts.push(words.imported);
      const row = element(
        "li",
        { part: "comment", tabindex: "-1" },
        element("p", {}, stars(one.rating), " ", element("strong", { part: "title", ...marked }, one.title || "")),
        element("p", { part: "byline faint" }, ...facts.flatMap((fact, place) => (place ? [" · ", fact] : [fact]))),
      );
      if (one.incentivized) {
        const [before, after] = words.received.split("<bdi>%(incentive)s</bdi>");
        const what = one.incentive ? [before, element("bdi", {}, one.incentive), after] : [words.rewarded];
        row.append(element("p", { part: "incentive faint" }, ...what));
      }
      if (one.text) row.append(element("p", { part: "text", ...marked }, one.text));
      if (one.aspects.length) row.append(this.#aspects(one.aspects, spoken));
      if (one.photos.length) {
        row.append(element("ul", { part: "photos" }, ...one.photos.map((...photo) => this.#photo(words, photo))));
      }
      const helpful = one.helpfulCount ? `${words.helpful} · ${number(one.helpfulCount)}` : "";
      row.append(element("p", { part: "ways votes faint" }, helpful));
      if (one.reply) {
        row.append(
          element(
            "div",
            { part: "reply" },
            element("p", { part: "byline faint" }, words.reply, " · ", day(one.reply.createdAt)),
            element("p", { part: "text", ...marked }, one.reply.text),
          ),
        );
      }
      return row;
    }

    /* Returns the ratings of the shop's aspects. With ``digits``, they are averages, which have a number. */
    #aspects(ratings, { base, stars, number }, digits) {
      const items = ratings.map(({ name, rating }) => {
        const label = element("bdi", {}, ASPECTS[base][name] ?? name);
        return element("li", {}, label, " ", stars(rating, digits), digits ? ` ${number(rating, digits)}` : "");
      });
      return element("ul", { part: "aspects faint" }, ...items);
    }

    /* Returns a small picture that links to the photo. Of another host, only a link, because the host of a picture
       sees who loads it. */
    #photo(words, [{ url, alt }, place, { length }]) {
      const address = new URL(url.startsWith("/") ? this.#root + url : url, document.baseURI);
      const name = alt || words.photo.replace("%(place)s", place + 1).replace("%(count)s", length);
      const shown = [new URL(this.#root, document.baseURI).origin, ...PHOTO_ORIGINS].includes(address.origin);
      const picture = () =>
        element("img", { part: "photo", src: address.href, alt: name, width: 80, height: 80, loading: "lazy" });
      const link = { href: address.href, rel: "nofollow ugc noreferrer", dir: "auto" };
      return element("li", {}, element("a", link, shown ? picture() : name));
    }

    /* Shows a button at each comment that the signed-in customer can vote for. */
    async #offerVotes(nodes, rows, { words, number }) {
      try {
        const found = await this.#sendSigned(IDS.votes, { ids: nodes.map(({ id }) => id) });
        if (!found?.viewer) return;
        for (const [place, node] of found.nodes.entries()) {
          if (node && node.username !== found.viewer.username) this.#offerVote(node, rows[place], words, number);
        }
      } catch (error) {
        console.error(`marginalia-comments: ${error.message}`);
      }
    }

    #offerVote({ id, helpfulCount, viewerFoundHelpful }, row, words, number) {
      const line = row.querySelector(".votes");
      const text = element("span", { role: "status" });
      const button = element("button", { type: "button", part: "button vote" }, words.helpful);
      const show = (helpful, count) => {
        button.ariaPressed = String(helpful);
        text.textContent = count ? number(count) : "";
      };
      show(viewerFoundHelpful, helpfulCount);
      line.replaceChildren(button, text);
      button.addEventListener("click", async () => {
        if (button.ariaBusy === "true") return;
        button.ariaBusy = "true";
        const helpful = button.ariaPressed !== "true";
        try {
          const data = await this.#sendSigned(helpful ? IDS.mark : IDS.unmark, { input: { id } });
          const [{ comment, userErrors }] = Object.values(data);
          if (!comment) throw new Error(userErrors[0].message);
          show(helpful, comment.helpfulCount);
          this.#tell("vote", { id, helpful, helpfulCount: comment.helpfulCount });
        } catch (error) {
          console.error(`marginalia-comments: ${error.message}`);
          text.textContent = words.voteFailed;
        }
        button.ariaBusy = null;
      });
    }
  }

  if (!customElements.get("marginalia-comments")) {
    customElements.define("marginalia-comments", MarginaliaComments);
  }
})();
