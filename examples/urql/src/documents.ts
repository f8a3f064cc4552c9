import { graphql } from "./graphql";

const STATISTICS_FIELDS = graphql(`
  fragment Statistics on Product @_unmask {
    id
    statistics {
      total
      average
      facets(rating: $rating, language: $language) {
        ratings {
          rating
          count
        }
        languages {
          language
          count
        }
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
      username
      authorName
    }
  }
`);

export const PAGE = graphql(
  `
    fragment Page on CommentConnection @_unmask {
      eventCursor
      edges {
        ...Edge
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  `,
  [EDGE_FIELDS],
);

export const PRODUCT = graphql(
  `
    query Product(
      $productId: ID!
      $rating: [Int!]
      $language: [String!]
      $orderBy: CommentOrder
    ) {
      viewer {
        id
        username
        name
      }
      product(productId: $productId) {
        title
        pictureUrl
        ...Statistics
        comments(rating: $rating, language: $language, orderBy: $orderBy, first: 20) {
          ...Page
        }
      }
    }
  `,
  [STATISTICS_FIELDS, PAGE],
);

export const STATISTICS = graphql(
  `
    query Statistics($productId: ID!, $rating: [Int!], $language: [String!]) {
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
      $productId: ID!
      $rating: [Int!]
      $language: [String!]
      $orderBy: CommentOrder
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
          ...Page
        }
      }
    }
  `,
  [PAGE],
);

export const ADD = graphql(
  `
    mutation AddComment($input: AddCommentInput!, $rating: [Int!], $language: [String!]) {
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
    mutation DeleteComment($input: DeleteCommentInput!, $rating: [Int!], $language: [String!]) {
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
    subscription CommentEvents(
      $productId: ID!
      $rating: [Int!]
      $language: [String!]
      $after: String
    ) {
      commentEvents(productId: $productId, rating: $rating, language: $language, after: $after) {
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
