// Pages in one direction, of what has no id.
graphql`
  query LeaderboardQuery {
    ...Leaderboard_ranks
  }
`;

graphql`
  fragment Leaderboard_ranks on Query
  @argumentDefinitions(count: { type: "Int", defaultValue: 10 }, cursor: { type: "String" })
  @refetchable(queryName: "LeaderboardPaginationQuery") {
    leaderboard(first: $count, after: $cursor) @connection(key: "Leaderboard_leaderboard") {
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
