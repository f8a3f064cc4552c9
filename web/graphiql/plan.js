/* A plugin of GraphiQL: the plans in the last answer, drawn as the pages draw them. A lane for each
   key range, a dot for each row that was read, and the list below; all lanes share the list's order. */
"use strict";

const planned = (() => {
  const make = React.createElement;
  const WIDTH = 320;
  const MARGIN = 8;
  const LANE = 40;
  const SKIPPED = 20;
  const NEEDED = ["segments", "steps", "rows"];

  let last = { answer: null, variables: {} };
  const listeners = new Set();

  /* Every list's plan in an answer, with the names of the fields that lead to it. */
  function plansOf(value, path = []) {
    if (value === null || typeof value !== "object") return [];
    const found = [];
    for (const [name, below] of Object.entries(value)) {
      if (name === "plan" && !Array.isArray(value)) found.push({ path, plan: below });
      else found.push(...plansOf(below, Array.isArray(value) ? path : [...path, name]));
    }
    return found;
  }

  /* Where everything stands, in units of the drawing. */
  function laidOut(plan) {
    const positions = [...new Set(plan.rows.map((row) => row.position))];
    const room = (WIDTH - 2 * MARGIN) / Math.max(1, positions.length);
    const radius = Math.max(2.2, Math.min(4.2, 0.43 * room));
    const step = Math.min(room, 17);
    const places = new Map(positions.map((one, n) => [one, MARGIN + (n + 0.5) * step]));
    let top = 4;
    const lanes = plan.segments.map((segment) => {
      const lane = { ...segment, label: top + 11, line: top + 26 };
      top += segment.skipReason ? SKIPPED : LANE;
      return lane;
    });
    const dots = plan.rows.map((row) => ({
      x: places.get(row.position),
      y: lanes[row.segment].line,
      shown: row.outcome === "SHOWN",
      kind: `${row.outcome === "SHOWN" || row.outcome === "HEAD" ? "shown" : "dropped"}${row.refill ? " refilled" : ""}`,
    }));
    return { radius, lanes, dots, list: top + 16, height: top + 44 };
  }

  function laneOf(lane, number) {
    const text = (key, props, said) => make("text", { key, y: lane.label, ...props }, said);
    const parts = lane.skipReason
      ? [
          text("label", { className: "skipped", x: MARGIN }, `✕ ${lane.partitionKey}`),
          text("many", { className: "skipped", x: WIDTH - MARGIN, textAnchor: "end" }, "skipped"),
        ]
      : [
          make("path", { key: "line", className: "lane", d: `M${MARGIN} ${lane.line}H${WIDTH - MARGIN}` }),
          text("label", { x: MARGIN }, lane.partitionKey),
          text("many", { className: "many", x: WIDTH - MARGIN, textAnchor: "end" }, rows(lane.itemsRead)),
        ];
    return make("g", { key: number }, parts);
  }

  const rows = (count) => `${count} ${count === 1 ? "row" : "rows"}`;

  function Lanes({ plan }) {
    const { radius, lanes, dots, list, height } = laidOut(plan);
    const shown = dots.filter((dot) => dot.shown);
    const dot = (props) => make("circle", { r: radius, ...props });
    const said = `${rows(dots.length)} read from ${lanes.length} key ${lanes.length === 1 ? "range" : "ranges"}, ${shown.length} shown.`;
    return make(
      "svg",
      { className: "lanes", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": said },
      shown.map(({ x, y }, n) =>
        make("path", { key: n, className: "drop", d: `M${x} ${y + radius}V${list - 6}` }),
      ),
      lanes.map(laneOf),
      dots.map(({ x, y, kind }, n) => dot({ key: n, className: `dot ${kind}`, cx: x, cy: y })),
      make("rect", { className: "merged", x: 1, y: list - 6, width: WIDTH - 2, height: 12, rx: 6 }),
      shown.map(({ x }, n) => dot({ key: n, className: "dot shown", cx: x, cy: list })),
      make("text", { x: MARGIN, y: list + 22 }, `the list: ${rows(shown.length)}`),
    );
  }

  function Drawn({ path, plan }) {
    if (plan === null) {
      return make("p", null, "The plan is null: this server does not explain. ", make("code", null, "marginalia serve --explain"), " does.");
    }
    const missing = NEEDED.filter((name) => !Array.isArray(plan[name]));
    const drawable = missing.length === 0 && plan.rows.every((row) => "position" in row && "segment" in row);
    const figures = [
      plan.index && `index ${plan.index}`,
      plan.requests !== undefined && `${plan.requests} ${plan.requests === 1 ? "Query" : "Queries"}`,
      plan.itemsRead !== undefined && `${rows(plan.itemsRead)} read`,
      typeof plan.consumedCapacity === "number" && `${plan.consumedCapacity} RCU`,
    ].filter(Boolean);
    return make(
      "section",
      { className: "plan-drawn" },
      make("h3", null, path.join(" › ")),
      make("p", null, figures.join(" · ")),
      drawable ? make(Lanes, { plan }) : make("p", null, "To be drawn it needs ", make("code", null, "steps { purpose segments } segments { partitionKey itemsRead skipReason } rows { position segment refill outcome }"), "."),
    );
  }

  /* The same list in the playground, where the query says which list it is. */
  function playground({ productId, rating, language, first, after, orderBy } = {}) {
    if (typeof productId !== "string") return "playground";
    const query = new URLSearchParams();
    for (const one of [rating ?? []].flat()) query.append("rating", one);
    for (const one of [language ?? []].flat()) query.append("language", one);
    if (orderBy === "OLDEST") query.set("order", "oldest");
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
        ? make("p", null, answer ? "No list in this answer tells its plan: select plan of one." : "Run the query: how its list was read is drawn here.")
        : plans.map((one) => make(Drawn, { key: one.path.join("."), ...one })),
      plans.length > 0 && make("p", { className: "plan-key" }, "● shown  ", make("span", null, "● read, not shown"), "  ○ refilled"),
      make("p", null, make("a", { href: playground(variables) }, "Two plans side by side, in the playground")),
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
    if (!answer?.data) return;
    last = { answer, variables };
    for (const listener of listeners) listener();
  }

  /* An answer as it was, or answers that are noted one by one, as they come. */
  function passed(coming, variables) {
    const iterator = coming?.[Symbol.asyncIterator]?.();
    if (!iterator) {
      note(coming, variables);
      return coming;
    }
    return {
      async next() {
        const step = await iterator.next();
        if (!step.done) note(step.value, variables);
        return step;
      },
      return: (value) => iterator.return(value),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  /* A fetcher whose answers are noted, but for the schema. */
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
