// Pages in both directions, and an object that is refetched by its id.
graphql`
  query UserQuery($username: String!) {
    user(username: $username) {
      ...User_orders
    }
  }
`;

graphql`
  fragment User_orders on User
  @argumentDefinitions(
    first: { type: "Int" }
    after: { type: "String" }
    last: { type: "Int" }
    before: { type: "String" }
  )
  @refetchable(queryName: "UserPaginationQuery") {
    orders(first: $first, after: $after, last: $last, before: $before)
      @connection(key: "User_orders") {
      edges {
        node {
          id
          ...User_order
        }
      }
    }
  }
`;

graphql`
  fragment User_order on Order @refetchable(queryName: "UserOrderQuery") {
    status
    createdAt
  }
`;
