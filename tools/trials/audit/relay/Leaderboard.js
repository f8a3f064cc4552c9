// Pages in both directions, of a list whose parent has no id.
graphql`
  query LeaderboardQuery {
    ...Leaderboard_ranks
  }
`;

graphql`
  fragment Leaderboard_ranks on Query
  @argumentDefinitions(
    first: { type: "Int" }
    after: { type: "String" }
    last: { type: "Int" }
    before: { type: "String" }
  )
  @refetchable(queryName: "LeaderboardPaginationQuery") {
    leaderboard(first: $first, after: $after, last: $last, before: $before)
      @connection(key: "Leaderboard_leaderboard") {
      edges {
        node {
          rank
          product {
            id
          }
        }
      }
    }
  }
`;
