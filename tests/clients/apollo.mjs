// Reads pages and fails with Apollo. Prints its cache.
// Usage: URL AUTHORIZATION PRODUCT, and the directory of the blocks of docs/client-setup.md
import { ApolloClient, HttpLink, gql } from '@apollo/client'
import { AUTHOR, PAGE, UNKNOWN_FIELD, authors, names, walk } from './documents.mjs'

const [uri, authorization, productId, blocks] = process.argv.slice(2)
const { makeCache } = await import(`${blocks}/apollo-cache.js`)
const query = gql(PAGE)

const made = () => new ApolloClient({
  cache: makeCache(),
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

answer.errors = [await failed(PAGE, { productId, after: 'no cursor' }), await failed(UNKNOWN_FIELD)]
console.log(JSON.stringify(answer))
