// A server for comparison: graphql-yoga over the AWS SDK. It reads a full page of every partition that the filter
// selects, as in the articles on which Marginalia's data model is based.
// Usage: yoga.mjs PORT ENDPOINT TABLE
import { randomUUID } from 'node:crypto'
import { Agent, createServer } from 'node:http'
import { DynamoDBClient, GetItemCommand, QueryCommand, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { createSchema, createYoga } from 'graphql-yoga'

const [port, endpoint, TableName] = process.argv.slice(2)
const client = new DynamoDBClient({
  endpoint,
  region: 'us-east-1',
  credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
  requestHandler: new NodeHttpHandler({ httpAgent: new Agent({ keepAlive: true, maxSockets: 64 }) })
})
const cost = { requests: 0, capacity: 0 }

const typeDefs = /* GraphQL */ `
  type Comment { id: ID! rating: Int! language: String! title: String! text: String! username: String! createdAt: String! }
  type PageInfo { hasNextPage: Boolean! endCursor: String }
  type CommentConnection { nodes: [Comment!]! pageInfo: PageInfo! }
  type Product {
    productId: String!
    comments(rating: [Int!], language: [String!], first: Int, after: String): CommentConnection!
  }
  type Query { product(productId: ID!): Product! comment(commentId: ID!): Comment }
  input AddCommentInput { productId: ID! rating: Int! language: String! title: String! text: String! }
  type AddCommentPayload { comment: Comment }
  type Mutation { addComment(input: AddCommentInput!): AddCommentPayload! }
`

const INSTANT = 27 // length of createdAt in a sort key, before '#' and the id
const escaped = name => name.replace(/[%#/]/g, encodeURIComponent)
const cursorOf = item => Buffer.from(item.GSISK.S).toString('base64url')

function commentOf (item) {
  const { title, text, username } = JSON.parse(item.data.S)
  return {
    id: item.GSISK.S.slice(INSTANT + 1),
    rating: Number(item.rating.N),
    language: item.language.S,
    title,
    text,
    username,
    createdAt: item.GSISK.S.slice(0, INSTANT)
  }
}

function partitions (product, ratings, languages) {
  const start = 'PRODUCT#' + escaped(product)
  if (!ratings && !languages) return [['all', 'GSI4PK', start]]
  if (!ratings) return languages.map(language => ['byLang', 'GSI2PK', `${start}/${language}`])
  if (!languages) return ratings.map(rating => ['byRating', 'GSI3PK', `${start}/${rating}`])
  return languages.flatMap(language =>
    ratings.map(rating => ['byLangAndRating', 'GSIPK', `${start}/${language}/${rating}`]))
}

async function readPartition ([IndexName, key, value], after, Limit) {
  const names = { '#key': key }
  const values = { ':value': { S: value } }
  if (after) {
    names['#position'] = 'GSISK'
    values[':after'] = { S: after }
  }
  const answer = await client.send(new QueryCommand({
    TableName,
    IndexName,
    Limit,
    ScanIndexForward: false,
    ReturnConsumedCapacity: 'TOTAL',
    KeyConditionExpression: after ? '#key = :value AND #position < :after' : '#key = :value',
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values
  }))
  cost.requests += 1
  cost.capacity += answer.ConsumedCapacity.CapacityUnits
  return answer.Items
}

const newestFirst = (one, other) => one.GSISK.S < other.GSISK.S ? 1 : -1

async function readPage (product, { rating, language, first = 20, after }) {
  const position = after && Buffer.from(after, 'base64url').toString()
  const selected = partitions(product, new Set(rating).size === 5 ? null : rating, language)
  const lists = await Promise.all(selected.map(partition => readPartition(partition, position, first + 1)))
  const items = lists.length === 1 ? lists[0] : lists.flat().sort(newestFirst)
  const page = items.slice(0, first)
  return {
    nodes: page.map(commentOf),
    pageInfo: { hasNextPage: items.length > first, endCursor: page.length ? cursorOf(page.at(-1)) : null }
  }
}

async function readComment (id) {
  const key = { S: 'COMMENT#' + escaped(id) }
  const { Item, ConsumedCapacity } = await client.send(new GetItemCommand({
    TableName, Key: { PK: key, SK: key }, ConsistentRead: true, ReturnConsumedCapacity: 'TOTAL'
  }))
  cost.requests += 1
  cost.capacity += ConsumedCapacity.CapacityUnits
  return Item ? commentOf(Item) : null
}

// Writes the comment, a counter of its product and a counter of its language in one transaction. Unlike this function,
// Marginalia's addComment writes no counter of the product. But it also writes leaderboards and idempotency keys, and it
// makes concurrent writes to a product wait for a lock.
async function addComment (input) {
  const id = randomUUID()
  const createdAt = new Date().toISOString().replace('Z', '000Z')
  const product = 'PRODUCT#' + escaped(input.productId)
  const key = { S: 'COMMENT#' + id }
  const Item = {
    PK: key,
    SK: key,
    GSI4PK: { S: product },
    GSI2PK: { S: `${product}/${input.language}` },
    GSI3PK: { S: `${product}/${input.rating}` },
    GSIPK: { S: `${product}/${input.language}/${input.rating}` },
    GSISK: { S: `${createdAt}#${id}` },
    rating: { N: String(input.rating) },
    language: { S: input.language },
    data: { S: JSON.stringify({ title: input.title, text: input.text, username: 'bench' }) }
  }
  const counter = sortKey => ({
    Update: {
      TableName,
      Key: { PK: { S: product }, SK: { S: sortKey } },
      UpdateExpression: 'ADD #rating :one, count_total :one',
      ExpressionAttributeNames: { '#rating': `count_${input.rating}` },
      ExpressionAttributeValues: { ':one': { N: '1' } }
    }
  })
  await client.send(new TransactWriteItemsCommand({
    TransactItems: [
      { Put: { TableName, Item, ConditionExpression: 'attribute_not_exists(PK)' } },
      counter('S'),
      counter(`S#${input.language}`)
    ]
  }))
  return { comment: commentOf(Item) }
}

const resolvers = {
  Query: {
    product: (_, { productId }) => ({ productId }),
    comment: (_, { commentId }) => readComment(commentId)
  },
  Product: { comments: ({ productId }, page) => readPage(productId, page) },
  Mutation: { addComment: (_, { input }) => addComment(input) }
}

const yoga = createYoga({
  schema: createSchema({ typeDefs, resolvers }), graphiql: false, landingPage: false, logging: false
})
const server = createServer((request, response) =>
  request.url === '/cost' ? response.end(JSON.stringify(cost)) : yoga(request, response))
server.listen(Number(port), '127.0.0.1', () => console.log('listening'))
