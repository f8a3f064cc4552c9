/* Opens GraphiQL on this server, with a first query that works on the demo data. */
"use strict";

const newestComments = {
  query: `# The newest comments of a product, rated 4 or 5
# and in English. Ctrl-Enter runs the query.
#
# For the next page, put pageInfo.endCursor into
# "after", in Variables below. "plan" tells how
# DynamoDB was asked, and what that cost.

query NewestComments(
  $productId: String!
  $rating: [Int!]
  $language: [String!]
  $first: Int
  $after: String
) {
  product(productId: $productId) {
    comments(
      rating: $rating
      language: $language
      first: $first
      after: $after
    ) {
      edges {
        cursor
        node {
          rating
          title
          text
          username
          language
          createdAt
        }
      }
      pageInfo {
        hasPreviousPage
        hasNextPage
        endCursor
      }
      plan {
        accessPattern
        index
        segments {
          partitionKey
          range
          limit
          itemsRead
        }
        requests
        itemsRead
        consumedCapacity
      }
    }
  }
}
`,
  variables: `{
  "productId": "1",
  "rating": [4, 5],
  "language": "en",
  "first": 5,
  "after": null
}`,
};

const addComment = {
  query: `# Writing needs a JWT. The demo prints one when it
# starts; this prints one for any name:
#
#   marginalia token --user you
#
# It goes into Headers below, in place of <JWT>.

mutation AddComment($input: AddCommentInput!) {
  addComment(input: $input) {
    comment {
      commentId
      username
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

/* The query that a link leads to, by ?query=…&variables=…; null without one. It opens in a tab of
   its own, so what was written before stays, and leaves the address, so that a reload keeps edits. */
function linked() {
  const given = new URLSearchParams(location.search);
  if (!given.has("query")) return null;
  history.replaceState(null, "", location.pathname);
  return { query: given.get("query"), variables: given.get("variables") ?? "" };
}

const asked = linked();
const firstTab = asked ?? newestComments;

// GraphiQL leaves out the first default tab's variables, and on the next visit opens the tab that
// holds what these two keys hold, or a new one.
if (asked || localStorage.getItem("graphiql:tabState") === null) {
  localStorage.setItem("graphiql:query", firstTab.query);
  localStorage.setItem("graphiql:variables", firstTab.variables);
}

ReactDOM.createRoot(document.getElementById("graphiql")).render(
  React.createElement(
    GraphiQL,
    {
      fetcher: GraphiQL.createFetcher({
        url: window.location.pathname,
        subscriptionUrl:
          window.location.origin.replace("http", "ws") + window.location.pathname,
      }),
      plugins: [GraphiQLPluginExplorer.explorerPlugin()],
      defaultTabs: asked ? [asked, newestComments, addComment] : [newestComments, addComment],
      defaultEditorToolsVisibility: true,
    },
    React.createElement(GraphiQL.Logo, null, "Marginalia"),
  ),
);
