/* <marginalia-comments product="1">: a product's comments on a shop's own page.

   Attributes: product, size (number of comments on a page, 1 to 20; default: 5), rating and language
   (values to show, separated by spaces), lang (language of the labels; default: the language of the
   page, else the language of the browser). If the widget does not have the language, labels are in English.
   Until the comments arrive, and if they cannot be read, the element shows the content between its tags.
   If further comments cannot be read, the element keeps its comments and offers to try again.
   The element neither sets nor sends cookies. It inserts comments as text, never as HTML. */
(() => {
  "use strict";
  const { document: DOCUMENT, messages: MESSAGES } = "WIDGET";
  const script = document.currentScript.src;
  const root = script.slice(0, script.lastIndexOf("/widget.js"));

  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    :host { display: block; font: inherit; color: inherit; }
    :host([hidden]) { display: none; }
    p, ol { margin: 0; padding: 0; }
    ol { list-style: none; }
    li { border-block-start: 1px solid var(--marginalia-line, #8884); padding-block: 1em; }
    .summary { margin-block-end: 1em; }
    .stars { color: var(--marginalia-star, #b8740f); letter-spacing: 0.1em; }
    .faint { color: var(--marginalia-faint, inherit); font-size: 0.875em; margin-block: 0.25em; }
    .text { overflow-wrap: anywhere; white-space: pre-line; }
    .reply { border-inline-start: 3px solid var(--marginalia-line, #8884); padding-inline-start: 1em; }
    .ways { display: flex; flex-wrap: wrap; gap: 1em; margin-block-start: 1em; }
    a { color: var(--marginalia-accent, LinkText); }
    button { background: var(--marginalia-accent, ButtonFace); border: 1px solid currentColor;
      border-radius: var(--marginalia-radius, 0.4em); color: var(--marginalia-button, ButtonText);
      cursor: pointer; font: inherit; padding: 0.4em 1em; }`);

  /* Returns an element with attributes and children. */
  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const listed = (text) => (text || "").split(/\s+/).filter(Boolean);

  class MarginaliaComments extends HTMLElement {
    static observedAttributes = ["product", "size", "rating", "language", "lang"];

    #read = 0;

    connectedCallback() {
      if (!this.shadowRoot) {
        this.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet];
        this.shadowRoot.append(document.createElement("slot"));
      }
      this.#show();
    }

    attributeChangedCallback(name, before, after) {
      if (this.shadowRoot && this.isConnected && before !== after) this.#show();
    }

    /* Reads the first page of comments, and replaces the element's content by it. */
    async #show() {
      const product = await this.#page(null);
      if (product) this.shadowRoot.replaceChildren(...this.#parts(product));
    }

    /* Returns the product with one page of comments. Returns null if the request fails, or if a newer request
       has begun meanwhile. */
    async #page(after) {
      const read = (this.#read += 1);
      const size = Number(this.getAttribute("size")) || 5;
      const ratings = listed(this.getAttribute("rating")).map(Number);
      const languages = listed(this.getAttribute("language"));
      const variables = {
        productId: this.getAttribute("product") || "",
        first: Math.min(Math.max(Math.trunc(size), 1), 20),
        after,
        rating: ratings.length ? ratings : null,
        language: languages.length ? languages : null,
      };
      const address = new URL(`${root}/graphql`);
      address.searchParams.set("query", DOCUMENT);
      address.searchParams.set("variables", JSON.stringify(variables));
      try {
        const answer = await fetch(address, {
          credentials: "omit",
          headers: { Accept: "application/graphql-response+json" },
        });
        const { data, errors } = await answer.json();
        if (errors) throw new Error(errors[0].message);
        return read === this.#read ? data.product : null;
      } catch (error) {
        console.error(`marginalia-comments: ${error.message}`);
        return null;
      }
    }

    #parts({ statistics, comments }) {
      const tag = this.lang || document.documentElement.lang || navigator.language;
      const base = tag.split("-")[0].toLowerCase();
      const words = MESSAGES[base] || MESSAGES.en;
      const speaks = MESSAGES[base] ? tag : "en";
      const said = element("section", { lang: speaks, dir: speaks.startsWith("ar") ? "rtl" : "ltr" });
      const list = element("ol", {});
      const failed = element("p", { role: "alert" });
      const ways = element("p", { class: "ways" });
      const all = `${root}/products/${encodeURIComponent(this.getAttribute("product") || "")}`;
      const number = (value, digits = 0) =>
        new Intl.NumberFormat(speaks, {
          minimumFractionDigits: digits,
          maximumFractionDigits: digits,
        }).format(value);
      const stars = (rating) =>
        element(
          "span",
          { class: "stars", role: "img", "aria-label": words.stars.replace("%(rating)s", number(rating)) },
          "★".repeat(rating) + "☆".repeat(5 - rating),
        );
      const days = new Intl.DateTimeFormat(speaks, { dateStyle: "long", timeZone: "UTC" });
      const day = (instant) => days.format(new Date(instant));
      const answer = (reply, language) =>
        element(
          "div",
          { class: "reply" },
          element("p", { class: "faint" }, words.reply, " · ", day(reply.createdAt)),
          element("p", { class: "text", dir: "auto", lang: language }, reply.text),
        );
      const row = (one) => {
        const facts = [
          element("bdi", {}, one.authorName),
          day(one.createdAt),
          ...(one.verifiedPurchase ? [words.verified] : []),
        ];
        return element(
          "li",
          {},
          element("p", {}, stars(one.rating), " ", element("strong", { dir: "auto", lang: one.language }, one.title || "")),
          element("p", { class: "faint" }, ...facts.flatMap((fact, place) => (place ? [" · ", fact] : [fact]))),
          ...(one.text ? [element("p", { class: "text", dir: "auto", lang: one.language }, one.text)] : []),
          ...(one.reply ? [answer(one.reply, one.language)] : []),
        );
      };
      const add = ({ nodes, pageInfo }) => {
        list.append(...nodes.map(row));
        failed.textContent = "";
        ways.replaceChildren(element("a", { href: all }, words.all));
        if (!pageInfo.hasNextPage) return;
        const more = element("button", { type: "button" }, words.more);
        more.addEventListener("click", async () => {
          more.disabled = true;
          const product = await this.#page(pageInfo.endCursor);
          if (product) return add(product.comments);
          more.disabled = false;
          more.textContent = words.again;
          failed.textContent = words.failed;
        });
        ways.prepend(more);
      };
      if (statistics && statistics.average !== null) {
        const { counts } = words; // lacks rare plural categories, such as that of millions in French: use ``other``
        const count = counts[new Intl.PluralRules(speaks).select(statistics.total)] ?? counts.other;
        said.append(
          element(
            "p",
            { class: "summary" },
            stars(Math.round(statistics.average)),
            " ",
            element("strong", {}, number(statistics.average, 1)),
            " · ",
            count.replace("%(count)s", number(statistics.total)),
          ),
        );
      }
      if (comments.nodes.length) add(comments);
      else ways.append(words.none);
      said.append(list, failed, ways);
      return [said];
    }
  }

  if (!customElements.get("marginalia-comments")) {
    customElements.define("marginalia-comments", MarginaliaComments);
  }
})();
