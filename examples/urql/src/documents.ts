import { graphql } from "./graphql";

export const VIEWER = graphql(`
  query Viewer {
    viewer {
      id
      username
    }
  }
`);

const STATISTICS_FIELDS = graphql(`
  fragment Statistics on Product @_unmask {
    id
    statistics {
      total
      average
      histogram {
        rating
        count
      }
      languages {
        language
        count
      }
    }
  }
`);

const EDGE_FIELDS = graphql(`
  fragment Edge on CommentEdge @_unmask {
    cursor
    node {
      id
      title
      text
      rating
      language
      createdAt
      verifiedPurchase
      author {
        username
      }
    }
  }
`);

export const STATISTICS = graphql(
  `
    query Statistics($productId: String!) {
      product(productId: $productId) {
        ...Statistics
      }
    }
  `,
  [STATISTICS_FIELDS],
);

export const COMMENTS = graphql(
  `
    query Comments(
      $productId: String!
      $rating: [Int!]
      $language: [String!]
      $orderBy: DateOrder
      $first: Int
      $after: String
    ) {
      product(productId: $productId) {
        id
        comments(
          rating: $rating
          language: $language
          orderBy: $orderBy
          first: $first
          after: $after
        ) {
          edges {
            ...Edge
          }
          pageInfo {
            hasNextPage
            endCursor
          }
        }
      }
    }
  `,
  [EDGE_FIELDS],
);

export const ADD = graphql(
  `
    mutation AddComment($input: AddCommentInput!) {
      addComment(input: $input) {
        commentEdge {
          ...Edge
        }
        comment {
          id
          product {
            ...Statistics
          }
        }
        userErrors {
          field
          message
        }
      }
    }
  `,
  [EDGE_FIELDS, STATISTICS_FIELDS],
);

export const DELETE = graphql(
  `
    mutation DeleteComment($input: DeleteCommentInput!) {
      deleteComment(input: $input) {
        deletedId
        product {
          ...Statistics
        }
        userErrors {
          message
        }
      }
    }
  `,
  [STATISTICS_FIELDS],
);

export const EVENTS = graphql(
  `
    subscription CommentEvents($productId: String!, $rating: [Int!], $language: [String!]) {
      commentEvents(productId: $productId, rating: $rating, language: $language) {
        kind
        cursor
        deletedId
        commentEdge {
          ...Edge
        }
      }
    }
  `,
  [EDGE_FIELDS],
);
