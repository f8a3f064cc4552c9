// Pages in both directions, of an object that can be refetched by its id without a user.
graphql`
  query AuthorQuery($username: String!) {
    author(username: $username) {
      ...Author_comments
    }
  }
`;

graphql`
  fragment Author_comments on Author
  @argumentDefinitions(
    first: { type: "Int" }
    after: { type: "String" }
    last: { type: "Int" }
    before: { type: "String" }
  )
  @refetchable(queryName: "AuthorPaginationQuery") {
    name
    comments(first: $first, after: $after, last: $last, before: $before)
      @connection(key: "Author_comments") {
      edges {
        node {
          id
          authorName
        }
      }
    }
  }
`;
