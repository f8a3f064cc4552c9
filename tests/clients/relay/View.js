// The documents of a page that shows a product's counts and comments.
graphql`
  query ViewQuery($productId: ID!, $rating: [Int!], $first: Int) {
    product(productId: $productId) {
      ...View_product @arguments(rating: $rating, first: $first)
    }
  }
`

graphql`
  fragment View_product on Product
  @argumentDefinitions(rating: { type: "[Int!]" }, first: { type: "Int" }, after: { type: "String" })
  @refetchable(queryName: "ViewPaginationQuery") {
    ...View_counts @arguments(rating: $rating)
    comments(rating: $rating, first: $first, after: $after)
      @connection(key: "Product_comments") {
      totalCount
      edges {
        node {
          ...View_comment
        }
      }
      pageInfo {
        hasNextPage
      }
    }
  }
`

graphql`
  fragment View_counts on Product @argumentDefinitions(rating: { type: "[Int!]" }) {
    id
    statistics {
      total
      average
      facets(rating: $rating) {
        total
        ratings {
          rating
          count
        }
      }
    }
  }
`

graphql`
  fragment View_comment on Comment {
    id
    text
    rating
    language
    createdAt
    updatedAt
    helpfulCount
    reply {
      text
    }
  }
`

graphql`
  mutation ViewAddCommentMutation($input: AddCommentInput!, $rating: [Int!]) {
    addComment(input: $input) {
      commentEdge {
        cursor
        node {
          id
          ...View_comment
        }
      }
      product {
        ...View_counts @arguments(rating: $rating)
      }
      userErrors {
        message
      }
    }
  }
`

graphql`
  mutation ViewUpdateCommentMutation($input: UpdateCommentInput!, $rating: [Int!]) {
    updateComment(input: $input) {
      unpublishedId
      commentEdge {
        cursor
        node {
          id
          ...View_comment
        }
      }
      product {
        ...View_counts @arguments(rating: $rating)
      }
      userErrors {
        message
      }
    }
  }
`

graphql`
  mutation ViewApproveCommentMutation($input: ApproveCommentInput!, $rating: [Int!]) {
    approveComment(input: $input) {
      commentEdge {
        cursor
        node {
          id
          ...View_comment
        }
      }
      product {
        ...View_counts @arguments(rating: $rating)
      }
      userErrors {
        message
      }
    }
  }
`

graphql`
  mutation ViewRejectCommentMutation($input: RejectCommentInput!, $rating: [Int!]) {
    rejectComment(input: $input) {
      unpublishedId
      submission {
        id
      }
      product {
        ...View_counts @arguments(rating: $rating)
      }
      userErrors {
        message
      }
    }
  }
`

graphql`
  mutation ViewDeleteCommentMutation($input: DeleteCommentInput!, $rating: [Int!]) {
    deleteComment(input: $input) {
      deletedId
      product {
        ...View_counts @arguments(rating: $rating)
      }
      userErrors {
        message
      }
    }
  }
`

graphql`
  mutation ViewReplyToCommentMutation($input: ReplyToCommentInput!, $rating: [Int!]) {
    replyToComment(input: $input) {
      comment {
        ...View_comment
      }
      product {
        ...View_counts @arguments(rating: $rating)
      }
      userErrors {
        message
      }
    }
  }
`

graphql`
  mutation ViewMarkHelpfulMutation($input: MarkHelpfulInput!) {
    markHelpful(input: $input) {
      comment {
        ...View_comment
      }
      userErrors {
        message
      }
    }
  }
`
