// The documents of a page that shows the comments that wait for a moderator.
graphql`
  query QueueQuery($first: Int) {
    ...Queue_query @arguments(first: $first)
  }
`

graphql`
  fragment Queue_query on Query
  @argumentDefinitions(first: { type: "Int" }, after: { type: "String" })
  @refetchable(queryName: "QueuePaginationQuery") {
    moderationQueue(kind: PENDING, first: $first, after: $after)
      @connection(key: "Queue_moderationQueue") {
      totalCount
      edges {
        node {
          submission {
            id
            text
            createdAt
          }
        }
      }
      pageInfo {
        hasNextPage
      }
    }
  }
`

graphql`
  mutation QueueApproveCommentMutation($input: ApproveCommentInput!) {
    approveComment(input: $input) {
      queueEntryId
      userErrors {
        message
      }
    }
  }
`

graphql`
  mutation QueueRejectCommentMutation($input: RejectCommentInput!) {
    rejectComment(input: $input) {
      queueEntryId
      userErrors {
        message
      }
    }
  }
`
