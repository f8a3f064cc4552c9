// Composes a server's subgraph with the subgraph of a shop's catalogue, and sends queries to a gateway.
// Prints the results, each with the number of requests to the server. Arguments: URL [QUERY AUTHORIZATION]...
import { composeServices } from '@apollo/composition'
import { ApolloGateway, LocalGraphQLDataSource, RemoteGraphQLDataSource } from '@apollo/gateway'
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'

const [url, ...queries] = process.argv.slice(2)

const typeDefs = parse(`
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.0", import: ["@key", "@override", "@shareable"])
  type Query { catalogue(first: Int!, pinned: ID): [Product!]! }
  type Product @key(fields: "productId") {
    productId: ID!
    price: Int!
    title: String @override(from: "marginalia")
    pinned: Comment
    designer: Author
  }
  type Comment @key(fields: "id", resolvable: false) { id: ID! }
  type Author @key(fields: "id", resolvable: false) { id: ID! }
  type PageInfo @shareable { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }
`)
const product = (productId, pinned) => ({
  productId,
  price: 100 * productId.length,
  title: `Title of ${productId}`,
  pinned: pinned && { id: pinned },
  designer: { id: btoa('Author:user0') }
})
const resolvers = {
  Query: { catalogue: (_, { first, pinned }) => Array.from({ length: first }, (_, n) => product(`p${n}`, pinned)) },
  Product: { __resolveReference: ({ productId }) => product(productId) }
}

let requests = 0
class Server extends RemoteGraphQLDataSource {
  willSendRequest ({ request, context }) {
    requests += 1
    if (context.authorization) request.http.headers.set('authorization', context.authorization)
  }
}

const asked = await fetch(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query: '{ _service { sdl } }' })
})
const { sdl } = (await asked.json()).data._service
const composed = composeServices([
  { name: 'catalogue', url: 'http://catalogue.invalid', typeDefs },
  { name: 'marginalia', url, typeDefs: parse(sdl) }
])
if (composed.errors) throw new Error(composed.errors.join('\n'))
const gateway = new ApolloGateway({
  supergraphSdl: composed.supergraphSdl,
  buildService: ({ name, url }) => name === 'marginalia'
    ? new Server({ url })
    : new LocalGraphQLDataSource(buildSubgraphSchema([{ typeDefs, resolvers }])),
  logger: { debug () {}, info () {}, warn: console.error, error: console.error }
})
const { executor } = await gateway.load()

const answers = []
while (queries.length) {
  const [query, authorization] = queries.splice(0, 2)
  requests = 0
  const document = parse(query)
  const { data, errors } = await executor({
    request: { query }, document, queryHash: query, operation: document.definitions[0], context: { authorization }
  })
  answers.push({ data, errors, requests })
}
await gateway.stop()
console.log(JSON.stringify(answers))
