/* A GraphiQL plugin that shows the query plans in the last response. The server draws the plans. */
"use strict";

const planned = (() => {
  const make = React.createElement;
  let last = { answer: null, variables: {} };
  const listeners = new Set();

  /* Returns all plans in a response, each with the path of its list. */
  function plansOf(value, path = []) {
    if (value === null || typeof value !== "object") return [];
    const found = [];
    for (const [name, below] of Object.entries(value)) {
      if (name === "plan" && !Array.isArray(value)) found.push({ path, plan: below });
      else found.push(...plansOf(below, Array.isArray(value) ? path : [...path, name]));
    }
    return found;
  }

  /* Returns the server's drawing of a plan as HTML, or an error message. */
  async function drawingOf({ residual, steps, segments, rows }) {
    try {
      const answer = await fetch("playground/drawing", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ residual, steps, segments, rows }),
      });
      const content = await answer.json();
      return answer.ok ? { html: content } : { sentence: content.errors[0].message };
    } catch {
      return { sentence: "The plan could not be drawn. Run the query again." };
    }
  }

  function Drawn({ path, plan }) {
    const [{ html, sentence }, show] = React.useState({});
    React.useEffect(() => {
      let current = true;
      drawingOf(plan).then((drawing) => current && show(drawing));
      return () => (current = false);
    }, [plan]);
    const counted = (count, one, many) => count !== undefined && `${count} ${count === 1 ? one : many}`;
    const figures = [
      plan.index && `index ${plan.index}`,
      counted(plan.requests, "Query", "Queries"),
      counted(plan.itemsRead, "row read", "rows read"),
      typeof plan.consumedCapacity === "number" && `${plan.consumedCapacity} RCU`,
    ].filter(Boolean);
    return make(
      "section",
      { className: "plan-drawn" },
      make("h3", null, path.join(" › ")),
      make("p", null, figures.join(" · ")),
      // The server escapes the plan's values.
      html ? make("div", { dangerouslySetInnerHTML: { __html: html } }) : make("p", null, sentence),
    );
  }

  /* Returns the address of the playground. If the variables name a product, the address has the query's product,
     ratings, languages, other filters, order and page. It leaves out createdFrom and createdBefore, because the
     playground filters by whole days. */
  function playground({ productId, rating, language, first, after, orderBy, verifiedOnly, hasPhotos } = {}) {
    if (typeof productId !== "string") return "playground";
    const query = new URLSearchParams();
    for (const one of [rating ?? []].flat()) query.append("rating", one);
    for (const one of [language ?? []].flat()) query.append("language", one);
    const order = { OLDEST: "oldest", HIGHEST_RATING: "highest", LOWEST_RATING: "lowest", MOST_HELPFUL: "helpful" }[orderBy];
    if (order) query.set("order", order);
    if (verifiedOnly) query.set("verified", "yes");
    if (hasPhotos) query.set("photos", "yes");
    query.set("product", productId);
    if (first) query.set("size", first);
    if (after) query.set("after", after);
    return `playground?${query}`;
  }

  function Content() {
    const { answer, variables } = React.useSyncExternalStore(
      (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      () => last,
    );
    const plans = plansOf(answer?.data);
    return make(
      "div",
      null,
      make("div", { className: "graphiql-doc-explorer-title" }, "Plan"),
      plans.length === 0
        ? make("p", null, answer ? "This response contains no plan. Select the field plan of a list." : "Run a query that selects the field plan. Its drawing appears here.")
        : plans.map((one, key) => make(Drawn, { key, ...one })),
      make("p", null, make("a", { href: playground(variables) }, "Compare two plans in the playground")),
    );
  }

  const Icon = () =>
    make(
      "svg",
      { viewBox: "0 0 20 20", fill: "none", stroke: "currentColor", strokeWidth: 1.5, "aria-hidden": true },
      make("path", { d: "M2 5h16M2 10h16M2 15h16" }),
      [[5, 5], [13, 5], [8, 10], [15, 10], [4, 15], [11, 15]].map(([cx, cy]) =>
        make("circle", { key: `${cx} ${cy}`, cx, cy, r: 2, fill: "currentColor", stroke: "none" }),
      ),
    );

  function note(answer, variables) {
    if (!answer?.data && !answer?.errors) return; // a later part of a response, without a plan
    last = { answer, variables };
    for (const listener of listeners) listener();
  }

  /* Stores a response and returns it. For a subscription, stores each response when it arrives. */
  function passed(coming, variables) {
    const iterator = coming?.[Symbol.asyncIterator]?.();
    if (!iterator) {
      note(coming, variables);
      return coming;
    }
    return {
      async next() {
        try {
          const step = await iterator.next();
          if (!step.done) note(step.value, variables);
          return step;
        } catch (error) {
          note({ errors: [error] }, variables); // otherwise the plan of an earlier response would stay
          throw error;
        }
      },
      return: (value) => iterator.return(value),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  /* Returns a fetcher that stores each response, except responses with the schema. */
  function noting(fetcher) {
    return (params, options) => {
      const coming = fetcher(params, options);
      if (params.operationName === "IntrospectionQuery") return coming;
      if (typeof coming?.then !== "function") return passed(coming, params.variables);
      return coming.then((answer) => passed(answer, params.variables));
    };
  }

  return { noting, plugin: { title: "Plan", icon: Icon, content: Content } };
})();
