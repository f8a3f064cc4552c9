// Reads pages, inserts, deletes and fails with Relay. Prints its store.
// Usage: URL AUTHORIZATION PRODUCT, the directory of the compiler's artifacts, and `text` or `doc_id`
import { createRequire } from 'node:module'
import {
  Environment, Network, RecordSource, Store, commitMutation, createOperationDescriptor, fetchQuery,
  getPaginationMetadata, getPaginationVariables, getRefetchMetadata, getSingularSelector
} from 'relay-runtime'
import { SIZE, names } from './documents.mjs'

const [url, authorization, productId, artifacts, by] = process.argv.slice(2)
const require = createRequire(`${artifacts}/`)
const artifact = name => require(`./${name}.graphql.js`)

const QUERY = artifact('CommentsQuery')
const OF_PRODUCT = ['product', { productId }, QUERY, artifact('Comments_product')]

const WAYS = { doc_id: ({ id }) => ({ doc_id: id }), text: ({ text }) => ({ query: text }) }

const made = (asked = WAYS[by]) => new Environment({
  network: Network.create(async (params, variables) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const body = JSON.stringify({ ...asked(params), variables })
    return (await fetch(url, { method: 'POST', headers, body })).json()
  }),
  store: new Store(new RecordSource())
})

/** Reads the first page and, as usePaginationFragment does, all other pages in one direction. */
async function walked (direction, [field, argument, query, fragment] = OF_PRODUCT) {
  const { paginationRequest, paginationMetadata } = getPaginationMetadata(fragment)
  const { identifierInfo } = getRefetchMetadata(fragment)
  const environment = made()
  const backward = direction === 'backward'
  const first = backward ? { last: SIZE } : { first: SIZE }
  const operation = createOperationDescriptor(query, { ...argument, ...first })
  environment.retain(operation)
  await fetchQuery(environment, query, operation.request.variables).toPromise()

  const shown = () => {
    const owner = environment.lookup(operation.fragment).data[field]
    return environment.lookup(getSingularSelector(fragment, owner)).data
  }
  for (;;) {
    const { id, comments: { pageInfo } } = shown()
    if (backward ? !pageInfo.hasPreviousPage : !pageInfo.hasNextPage) break
    const cursor = backward ? pageInfo.startCursor : pageInfo.endCursor
    const variables = getPaginationVariables(direction, SIZE, cursor, {}, {}, paginationMetadata)
    variables[identifierInfo.identifierQueryVariableName] = id
    await fetchQuery(environment, paginationRequest, variables).toPromise()
  }
  return { environment, shown, comments: () => shown().comments }
}

const committed = (environment, name, variables) => new Promise((resolve, reject) =>
  commitMutation(environment, {
    mutation: artifact(name), variables, onCompleted: resolve, onError: reject
  }))

/** Returns the code of the query's error; null without an error. */
const failed = (variables, asked) => fetchQuery(made(asked), QUERY, variables).toPromise()
  .then(() => null, error => error.source.errors[0].extensions.code)

const texts = ({ comments }) => comments().edges.map(({ node }) => node.text)

const list = await walked('forward')
const answer = { forward: texts(list), backward: texts(await walked('backward')) }

const { edges } = list.comments()
answer.names = names(edges)
const { username } = edges[0].node.author
const author = await walked('forward', ['author', { username }, artifact('AuthorQuery'), artifact('Author_comments')])
answer.author = [author.shown().name, username]
answer.byAuthor = texts(author)

const connections = [list.comments().__id]
const comment = { productId, rating: 5, language: 'en', text: 'By Relay' }
await committed(list.environment, 'CommentsAddMutation', { input: comment, connections })
answer.inserted = texts(list)
const { id } = list.comments().edges[0].node
await committed(list.environment, 'CommentsDeleteMutation', { input: { id }, connections })
answer.deleted = texts(list)

const AFTER = artifact('CommentsAfterQuery')
const { product } = await fetchQuery(made(), AFTER, { productId, after: 'no cursor' }).toPromise()
answer.errors = [product.comments.errors[0].extensions.code, await failed({})]
answer.otherText = await failed({ productId }, ({ text }) => ({ query: `# Not registered\n${text}` }))
console.log(JSON.stringify(answer))
