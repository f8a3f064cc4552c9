// Reads pages and fails with urql's normalized cache. Prints it.
// Usage: URL AUTHORIZATION PRODUCT, and the directory of the blocks of docs/client-setup.md
import { Client, fetchExchange } from '@urql/core'
import { AUTHOR, PAGE, SIZE, UNKNOWN_FIELD, authors, names, walk } from './documents.mjs'

const [url, authorization, productId, blocks] = process.argv.slice(2)
const { makeCache } = await import(`${blocks}/graphcache.js`)

const made = () => new Client({
  url,
  fetchOptions: { headers: { authorization } },
  exchanges: [
    makeCache(),
    fetchExchange
  ]
})
const ask = client => async page => {
  const { data, error } = await client.query(PAGE, { productId, ...page }).toPromise()
  if (error) throw error
  return data.product.comments
}
const texts = ({ edges }) => edges.map(({ node }) => node.text)

async function walked (backward) {
  const client = made()
  let shown
  await walk(async page => (shown = await ask(client)(page)), backward)
  return shown
}

async function failed (document, variables) {
  const { error } = await made().query(document, variables).toPromise()
  return error.graphQLErrors[0].extensions?.code ?? error.graphQLErrors[0].message
}

const answer = { forward: texts(await walked(false)), backward: texts(await walked(true)) }

const client = made()
const { edges } = await ask(client)({ first: SIZE })
answer.page = texts({ edges })
answer.names = names(edges)
const [id] = authors(edges)
const named = await client.query(AUTHOR, { id }).toPromise()
answer.author = [named.data.node.name, edges[0].node.author.username]
answer.errors = [await failed(PAGE, { productId, after: 'no cursor' }), await failed(UNKNOWN_FIELD, {})]
console.log(JSON.stringify(answer))
