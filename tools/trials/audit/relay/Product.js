// The documents of a front end with Relay: a list with more pages, and mutations that change it.
graphql`
  query ProductQuery($productId: ID!) {
    product(productId: $productId) {
      ...Product_comments
    }
  }
`;

graphql`
  fragment Product_comments on Product
  @argumentDefinitions(count: { type: "Int", defaultValue: 20 }, cursor: { type: "String" })
  @refetchable(queryName: "ProductPaginationQuery") {
    comments(first: $count, after: $cursor) @connection(key: "Product_comments") {
      edges {
        node {
          id
          text
        }
      }
    }
  }
`;

graphql`
  mutation ProductAddCommentMutation($input: AddCommentInput!, $connections: [ID!]!) {
    addComment(input: $input) {
      commentEdge @prependEdge(connections: $connections) {
        node {
          id
          text
        }
      }
      userErrors {
        message
      }
    }
  }
`;

graphql`
  mutation ProductDeleteCommentMutation($input: DeleteCommentInput!, $connections: [ID!]!) {
    deleteComment(input: $input) {
      deletedId @deleteEdge(connections: $connections) @deleteRecord
    }
  }
`;
