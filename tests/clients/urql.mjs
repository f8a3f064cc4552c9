// Reads pages, inserts, invalidates and fails with urql's normalized cache. Prints it. Usage: URL AUTHORIZATION PRODUCT
import { Client, fetchExchange } from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import { relayPagination } from '@urql/exchange-graphcache/extras'
import { ADD, AUTHOR, DELETE, PAGE, SIZE, UNKNOWN_FIELD, authors, names, walk } from './documents.mjs'

const [url, authorization, productId] = process.argv.slice(2)
const FIRST = { productId, first: SIZE }

const made = () => new Client({
  url,
  fetchOptions: { headers: { authorization } },
  exchanges: [
    cacheExchange({
      resolvers: { Product: { comments: relayPagination() } },
      updates: {
        Mutation: {
          addComment: ({ addComment }, _, cache) => cache.updateQuery({ query: PAGE, variables: FIRST }, data => {
            data.product.comments.edges.unshift(addComment.commentEdge)
            return data
          }),
          deleteComment: ({ deleteComment }, _, cache) =>
            cache.invalidate({ __typename: 'Comment', id: deleteComment.deletedId })
        }
      }
    }),
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
const { data } = await client.mutation(ADD, { productId, text: 'By urql' }).toPromise()
answer.inserted = texts(await ask(client)({ first: SIZE }))
await client.mutation(DELETE, { id: data.addComment.commentEdge.node.id }).toPromise()
answer.evicted = texts(await ask(client)({ first: SIZE }))
answer.errors = [await failed(PAGE, { productId, after: 'no cursor' }), await failed(UNKNOWN_FIELD, {})]
console.log(JSON.stringify(answer))
