// The documents of a front end with Relay. Relay's compiler translates them for relay.mjs.
graphql`
  query CommentsQuery($productId: ID!, $first: Int, $last: Int) {
    product(productId: $productId) {
      ...Comments_product @arguments(first: $first, last: $last)
    }
  }
`

graphql`
  fragment Comments_product on Product
  @argumentDefinitions(
    first: { type: "Int" }
    after: { type: "String" }
    last: { type: "Int" }
    before: { type: "String" }
  )
  @refetchable(queryName: "CommentsPaginationQuery") {
    comments(first: $first, after: $after, last: $last, before: $before)
      @connection(key: "Comments_comments") {
      __id
      edges {
        node {
          id
          text
          authorName
          author {
            id
            username
          }
        }
      }
    }
  }
`

graphql`
  query AuthorQuery($username: String!, $first: Int) {
    author(username: $username) {
      ...Author_comments @arguments(first: $first)
    }
  }
`

graphql`
  fragment Author_comments on Author
  @argumentDefinitions(first: { type: "Int" }, after: { type: "String" })
  @refetchable(queryName: "AuthorPaginationQuery") {
    name
    comments(first: $first, after: $after) @connection(key: "Author_comments") {
      __id
      edges {
        node {
          id
          text
        }
      }
    }
  }
`

graphql`
  mutation CommentsAddMutation($input: AddCommentInput!, $connections: [ID!]!) {
    addComment(input: $input) {
      commentEdge @prependEdge(connections: $connections) {
        node {
          id
          text
          authorName
          author {
            id
            username
          }
        }
      }
      userErrors {
        message
        code
      }
    }
  }
`

graphql`
  mutation CommentsDeleteMutation($input: DeleteCommentInput!, $connections: [ID!]!) {
    deleteComment(input: $input) {
      deletedId @deleteEdge(connections: $connections)
      userErrors {
        message
        code
      }
    }
  }
`

graphql`
  query CommentsAfterQuery($productId: ID!, $after: String!) {
    product(productId: $productId) {
      comments(after: $after) @catch {
        edges {
          cursor
        }
      }
    }
  }
`
