/* Opens GraphiQL on this server, with a first query that works on the demo data. */
"use strict";

/* Whether lists in the server's schema have the field "plan". */
const root = document.getElementById("graphiql");
const explains = "plans" in root.dataset;

/* The JWT of the demo's user. Only a demo has it. GraphiQL sends it with each request without another JWT. */
const demoJwt = root.dataset.jwt;

const planHint = ` "plan" shows
# the requests to DynamoDB and their cost. The pane
# "Plan" at the left draws it.`;

const planFields = `
      plan {
        accessPattern
        index
        requests
        itemsRead
        consumedCapacity
        segments {
          partitionKey
          range
          limit
          itemsRead
          skipReason
        }
      }`;

const newestComments = {
  query: `# The newest comments of a product, rated 1 or 2
# and in English. Ctrl-Enter runs the query.
#
# For the next page, put pageInfo.endCursor into
# "after", in Variables below.${explains ? planHint : ""}

query NewestComments(
  $productId: ID!
  $rating: [Int!]
  $language: [String!]
  $first: Int
  $after: String
) {
  product(productId: $productId) {
    id
    comments(
      rating: $rating
      language: $language
      first: $first
      after: $after
    ) {
      edges {
        cursor
        node {
          id
          rating
          title
          text
          authorName
          language
          createdAt
        }
      }
      pageInfo {
        hasPreviousPage
        hasNextPage
        endCursor
      }${explains ? planFields : ""}
    }
  }
}
`,
  variables: `{
  "productId": "1",
  "rating": [1, 2],
  "language": ["en"],
  "first": 10,
  "after": null
}`,
};

const PLACEHOLDER = "<JWT>";

const demoHint = `# You are signed in as this demo's user. To write as
# another user, put a header into Headers below:
# {"Authorization": "Bearer ${PLACEHOLDER}"}`;

const jwtHint = `# To write, you need a JWT. A shop gives JWTs to its
# customers. In Headers below, replace ${PLACEHOLDER} by the JWT.`;

const noJwt = `The header has no JWT yet: in Headers below, replace ${PLACEHOLDER} by the JWT that the shop gives to its customers.`;

const addComment = {
  query: `${demoJwt ? demoHint : jwtHint}

mutation AddComment($input: AddCommentInput!) {
  addComment(input: $input) {
    comment {
      id
      authorName
      createdAt
    }
    userErrors {
      field
      message
      code
    }
  }
}
`,
  variables: `{
  "input": {
    "productId": "1",
    "rating": 5,
    "language": "en",
    "title": "Worth a note in the margin",
    "text": "Written in GraphiQL."
  }
}`,
  headers: demoJwt ? "" : `{"Authorization": "Bearer ${PLACEHOLDER}"}`,
};

/* Returns the query in the address (?query=…&variables=…), or null. Removes the query from the address, so
   that a reload keeps edits. The query opens in a new tab, so that the visitor's other tabs stay. */
function linked() {
  const given = new URLSearchParams(location.search);
  if (!given.has("query")) return null;
  history.replaceState(null, "", location.pathname);
  return { query: given.get("query"), variables: given.get("variables") ?? "" };
}

const asked = linked();
const firstTab = asked ?? newestComments;

// Store the first tab's query and variables in the browser's storage, where GraphiQL reads them, because GraphiQL
// ignores the variables of the first default tab. If an earlier visit left a tab with this query and these
// variables, GraphiQL opens this tab. Otherwise GraphiQL adds a tab.
if (asked || localStorage.getItem("graphiql:tabState") === null) {
  localStorage.setItem("graphiql:query", firstTab.query);
  localStorage.setItem("graphiql:variables", firstTab.variables);
}

/* Returns whether a document has only queries. A link from another site may contain any document, so a link that
   changes data never runs by itself. */
function onlyReads(text) {
  try {
    const operations = GraphiQL.GraphQL.parse(text).definitions.filter((one) => one.kind === "OperationDefinition");
    return operations.every((one) => one.operation === "query");
  } catch {
    return false;
  }
}

/* Runs the query of the link once, when GraphiQL's editors are ready. Shows nothing. */
function RunOnce() {
  const { queryEditor, variableEditor, responseEditor } = GraphiQL.React.useEditorContext();
  const { run } = GraphiQL.React.useExecutionContext();
  const done = React.useRef(false);
  React.useEffect(() => {
    if (done.current || !queryEditor || !variableEditor || !responseEditor) return;
    done.current = true;
    run();
  }, [queryEditor, variableEditor, responseEditor, run]);
  return null;
}

/* Returns a fetcher that signs the demo's requests. It does not send the placeholder of the JWT. */
function signing(fetcher) {
  return async (params, options) => {
    const headers = { ...options?.headers };
    const [name] = Object.keys(headers).filter((one) => one.toLowerCase() === "authorization");
    if (headers[name]?.includes?.(PLACEHOLDER)) {
      if (params.operationName !== "IntrospectionQuery") return { errors: [{ message: noJwt }] };
      delete headers[name];
    }
    if (demoJwt && !name) headers.Authorization = `Bearer ${demoJwt}`;
    return fetcher(params, { ...options, headers });
  };
}

/* Limits connections to one a second. If a connection ends with code 1000, graphql-ws connects again immediately,
   without an end. */
let connectAt = 0;
async function socketAddress() {
  const now = Date.now();
  const pause = Math.max(0, connectAt - now);
  connectAt = now + pause + 1000;
  await new Promise((resolve) => setTimeout(resolve, pause));
  return location.origin.replace("http", "ws") + location.pathname;
}

/* Returns the address and the text of the link back: to the page of this site that the visitor came from, or to
   the home page. */
function back() {
  const home = new URL("./", location.href).href;
  const from = document.referrer.split("#")[0];
  if (!from.startsWith(home) || from === home || new URL(from).pathname === location.pathname) return [home, "Home"];
  return [from, from.startsWith(`${home}playground`) ? "Back to the playground" : "Back to the page"];
}

const [backTo, backText] = back();
const runs = asked !== null && onlyReads(asked.query);

ReactDOM.createRoot(root).render(
  React.createElement(
    GraphiQL,
    {
      fetcher: signing(
        planned.noting(
          GraphiQL.createFetcher({
            url: location.pathname,
            subscriptionUrl: socketAddress,
            enableIncrementalDelivery: false,
          }),
        ),
      ),
      plugins: [...(explains ? [planned.plugin] : []), GraphiQLPluginExplorer.explorerPlugin()],
      visiblePlugin: runs && explains ? planned.plugin : undefined,
      defaultTabs: asked ? [asked, newestComments, addComment] : [newestComments, addComment],
      defaultEditorToolsVisibility: true,
      schemaDescription: true,
    },
    React.createElement(
      GraphiQL.Logo,
      null,
      React.createElement("a", { href: backTo }, backText),
      runs && React.createElement(RunOnce),
    ),
  ),
);
