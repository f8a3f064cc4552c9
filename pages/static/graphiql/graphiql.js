/* Opens GraphiQL on this server, with a first query that works on the demo data. */
"use strict";

/* Whether lists in the server's schema have the field "plan". */
const explains = "plans" in document.getElementById("graphiql").dataset;

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
        residual
        steps {
          purpose
          index
          segments
        }
        rows {
          position
          segment
          refill
          outcome
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

const addComment = {
  query: `# To write, you need a JWT. A shop gives JWTs to its
# customers, and the demo prints one when it starts.
# In Headers below, replace <JWT> by the JWT.

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
  headers: `{"Authorization": "Bearer <JWT>"}`,
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

ReactDOM.createRoot(document.getElementById("graphiql")).render(
  React.createElement(
    GraphiQL,
    {
      fetcher: planned.noting(
        GraphiQL.createFetcher({
          url: window.location.pathname,
          subscriptionUrl:
            window.location.origin.replace("http", "ws") + window.location.pathname,
        }),
      ),
      plugins: [...(explains ? [planned.plugin] : []), GraphiQLPluginExplorer.explorerPlugin()],
      defaultTabs: asked ? [asked, newestComments, addComment] : [newestComments, addComment],
      defaultEditorToolsVisibility: true,
      schemaDescription: true,
    },
    React.createElement(GraphiQL.Logo, null, "Marginalia"),
  ),
);
