// Pages in both directions, of what everybody may ask for again by its id.
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
