// The documents of Apollo and urql. They have few fields, so that few changes of the schema affect them.
export const PAGE = /* GraphQL */ `
  query Page($productId: ID!, $first: Int, $after: String, $last: Int, $before: String) {
    product(productId: $productId) {
      id
      comments(first: $first, after: $after, last: $last, before: $before) {
        edges { cursor node { id text authorName author { id username } } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      }
    }
  }`
export const ADD = /* GraphQL */ `
  mutation Add($productId: ID!, $text: String!) {
    addComment(input: {productId: $productId, rating: 5, language: "en", text: $text}) {
      commentEdge { cursor node { id text authorName author { id username } } }
      userErrors { message code }
    }
  }`
export const AUTHOR = /* GraphQL */ `query Author($id: ID!) { node(id: $id) { id ... on Author { name } } }`
export const UNKNOWN_FIELD = 'query Unknown { nothing }'

export const SIZE = 10

/** Return the distinct names on comments, and the distinct ids of their authors. */
export const names = edges => [...new Set(edges.map(({ node }) => node.authorName))].sort()
export const authors = edges => [...new Set(edges.map(({ node }) => node.author.id))]

/** Read all pages of a list. `ask` requests a page and returns its connection. */
export async function walk (ask, backward) {
  let page = await ask(backward ? { last: SIZE } : { first: SIZE })
  while (backward ? page.pageInfo.hasPreviousPage : page.pageInfo.hasNextPage) {
    page = await ask(backward
      ? { last: SIZE, before: page.pageInfo.startCursor }
      : { first: SIZE, after: page.pageInfo.endCursor })
  }
}
