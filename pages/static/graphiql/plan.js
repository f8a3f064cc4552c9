/* A GraphiQL plugin that shows the query plans in the last response. The server draws the plans. */
"use strict";

const planned = (() => {
  const make = React.createElement;
  const { parse, visit } = GraphiQL.GraphQL;

  /* The fields of a plan that the drawing needs. */
  const NEEDED = {
    residual: [],
    steps: ["purpose", "index", "segments"],
    segments: ["partitionKey", "itemsRead", "skipReason"],
    rows: ["position", "segment", "refill", "outcome"],
  };
  const LATEST = 50;

  /* For each of the latest responses, by its text in the result pane: its plans and the variables of its request.
     Each tab keeps its response, so the pane draws the plans of the response that the visitor sees. */
  const drawable = new Map();
  let runs = 0;

  /* These fields as GraphQL, with aliases, so that they fit next to any fields of the query. */
  const ADDED = Object.entries(NEEDED)
    .map(([name, below]) => ` drawn_${name}: ${name} ${below.length ? `{ ${below.join(" ")} }` : ""}`)
    .join("");

  /* Returns whether a plan's selection lacks fields of the drawing. Fields in fragments do not count. */
  function lacks({ selections }) {
    const has = (fields, name) => fields?.find((one) => one.kind === "Field" && !one.alias && one.name.value === name);
    return Object.entries(NEEDED).some(([name, below]) => {
      const field = has(selections, name);
      return !field || below.some((one) => !has(field.selectionSet?.selections, one));
    });
  }

  /* Returns the query with the fields that its plans lack for a drawing. */
  function completed(query) {
    const ends = [];
    try {
      visit(parse(query), {
        Field({ name, selectionSet }) {
          if (name.value === "plan" && selectionSet && lacks(selectionSet)) ends.push(selectionSet.loc.end - 1);
        },
      });
    } catch {
      return query; // the server's answer shows the syntax error
    }
    return ends.reduceRight((text, end) => text.slice(0, end) + ADDED + text.slice(end), query);
  }

  /* Returns all plans in a response, each with the path of its list. Removes the fields that this script has added. */
  function plansOf(value, path = []) {
    if (value === null || typeof value !== "object") return [];
    const found = [];
    for (const [name, below] of Object.entries(value)) {
      if (name === "plan" && below !== null && typeof below === "object" && !Array.isArray(below)) {
        const plan = { ...below };
        for (const field of Object.keys(NEEDED)) {
          if (`drawn_${field}` in below) plan[field] = below[`drawn_${field}`];
          delete below[`drawn_${field}`];
        }
        found.push({ path, plan });
      } else found.push(...plansOf(below, Array.isArray(value) ? path : [...path, name]));
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
  function playground({ productId, rating, language, first, after, orderBy, verifiedOnly, hasPhotos, contains } = {}) {
    if (typeof productId !== "string") return "playground";
    const query = new URLSearchParams();
    if (contains) query.set("words", contains);
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
    const { tabs, activeTabIndex } = GraphiQL.React.useEditorContext();
    const { response } = tabs[activeTabIndex];
    const { plans, run, variables } = drawable.get(response) ?? { plans: [] };
    return make(
      "div",
      null,
      make("div", { className: "graphiql-doc-explorer-title" }, "Plan"),
      plans.length === 0
        ? make("p", null, response ? "This response contains no plan. Select the field plan of a list." : "Run a query that selects the field plan. Its drawing appears here.")
        : plans.map((one, place) => make(Drawn, { key: `${run} ${place}`, ...one })),
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

  /* Returns a fetcher that adds the fields of the drawing to a query, and stores the plans of its response. */
  function noting(fetcher) {
    return async (params, options) => {
      const answer = await fetcher({ ...params, query: completed(params.query) }, options);
      const plans = plansOf(answer?.data);
      if (plans.length) {
        if (drawable.size >= LATEST) drawable.delete(drawable.keys().next().value);
        drawable.set(JSON.stringify(answer, null, 2), { plans, run: (runs += 1), variables: params.variables });
      }
      return answer;
    };
  }

  return { noting, plugin: { title: "Plan", icon: Icon, content: Content } };
})();
