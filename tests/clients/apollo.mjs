// Reads pages, inserts, evicts and fails with Apollo. Prints its cache. Usage: URL AUTHORIZATION PRODUCT
import { ApolloClient, HttpLink, InMemoryCache, gql } from '@apollo/client'
import { relayStylePagination } from '@apollo/client/utilities'
import { ADD, AUTHOR, DELETE, PAGE, UNKNOWN_FIELD, authors, names, walk } from './documents.mjs'

const [uri, authorization, productId] = process.argv.slice(2)
const query = gql(PAGE)

const made = () => new ApolloClient({
  cache: new InMemoryCache({ typePolicies: { Product: { fields: { comments: relayStylePagination() } } } }),
  link: new HttpLink({ uri, headers: { authorization } })
})
const ask = client => async page => {
  const variables = { productId, ...page }
  await client.query({ query, variables, fetchPolicy: 'network-only' })
  return client.cache.readQuery({ query, variables }).product.comments
}
const edges = client => client.cache.readQuery({ query, variables: { productId } }).product.comments.edges
const texts = client => edges(client).map(({ node }) => node.text)

async function walked (backward) {
  const client = made()
  await walk(ask(client), backward)
  return client
}

async function failed (document, variables) {
  const { errors } = await made().query({ query: gql(document), variables }).catch(error => error)
  return errors[0].extensions?.code ?? errors[0].message
}

const client = await walked(false)
const answer = { forward: texts(client), backward: texts(await walked(true)) }

answer.names = names(edges(client))
const [author] = authors(edges(client))
const named = await client.query({ query: gql(AUTHOR), variables: { id: author } })
answer.author = [named.data.node.name, client.cache.extract()[`Author:${author}`].username]

const { id } = client.cache.readQuery({ query, variables: { productId } }).product
let added
await client.mutate({
  mutation: gql(ADD),
  variables: { productId, text: 'By Apollo' },
  update (cache, { data }) {
    added = data.addComment.commentEdge
    cache.modify({
      id: cache.identify({ __typename: 'Product', id }),
      fields: {
        comments: (stored, { toReference }) =>
          ({ ...stored, edges: [{ ...added, node: toReference(added.node) }, ...stored.edges] })
      }
    })
  }
})
answer.inserted = texts(client)
await client.mutate({
  mutation: gql(DELETE),
  variables: { id: added.node.id },
  update (cache, { data }) {
    cache.evict({ id: cache.identify({ __typename: 'Comment', id: data.deleteComment.deletedId }) })
    cache.gc()
  }
})
answer.evicted = texts(client)
answer.errors = [await failed(PAGE, { productId, after: 'no cursor' }), await failed(UNKNOWN_FIELD)]
console.log(JSON.stringify(answer))
