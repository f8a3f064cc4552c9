import { graphql } from "./gql";

export const PRODUCT = graphql(`
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
`);

export const STATISTICS = graphql(`
  query Statistics($productId: ID!, $rating: [Int!], $language: [String!]) {
    product(productId: $productId) {
      ...Statistics
    }
  }

  fragment Statistics on Product {
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

export const COMMENTS = graphql(`
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

  fragment Page on CommentConnection {
    eventCursor
    edges {
      ...Edge
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }

  fragment Edge on CommentEdge {
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

export const ADD = graphql(`
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
`);

export const DELETE = graphql(`
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
`);

export const EVENTS = graphql(`
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
`);
