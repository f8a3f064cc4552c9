import { graphql } from "./gql";

export const VIEWER = graphql(`
  query Viewer {
    viewer {
      id
      username
    }
  }
`);

export const STATISTICS = graphql(`
  query Statistics($productId: String!) {
    product(productId: $productId) {
      ...Statistics
    }
  }

  fragment Statistics on Product {
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

export const COMMENTS = graphql(`
  query Comments(
    $productId: String!
    $rating: [Int!]
    $language: [String!]
    $orderBy: DateOrder
    $first: Int = 20
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
      author {
        username
      }
    }
  }
`);

export const ADD = graphql(`
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
`);

export const DELETE = graphql(`
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
`);

export const EVENTS = graphql(`
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
`);
