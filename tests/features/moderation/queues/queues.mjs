// Shows the moderators' queue with a client and its cache, and decides on comments.
// After each step it prints the requests since the step before, what the page shows, and what a new client would show.
// Runs in a directory with the blocks of docs/client-setup.md. Usage: URL AUTHORIZATION CLIENT
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { parse, print, separateOperations } from 'graphql'

const [url, authorization, client] = process.argv.slice(2)
const headers = { authorization, 'content-type': 'application/json' }
const DOCUMENTS = separateOperations(parse(readFileSync('queue.graphql', 'utf-8')))
const SIZE = 2

let requests = []
const noting = async (address, options) => {
  const { operationName, query } = JSON.parse(options.body)
  requests.push(operationName ?? /(?:query|mutation) (\w+)/.exec(query)[1])
  return fetch(address, options)
}

async function apollo () {
  const { ApolloClient, HttpLink } = await import('@apollo/client')
  const { makeCache, updateQueues } = await import('./apollo-cache.js')
  const client = new ApolloClient({ cache: makeCache(), link: new HttpLink({ uri: url, headers, fetch: noting }) })
  const watched = client.watchQuery({ query: DOCUMENTS.Queue, variables: { first: SIZE } })
  const queue = () => watched.getCurrentResult().data.moderationQueue
  watched.subscribe({})
  return {
    queue,
    more: () => watched.fetchMore({ variables: { after: queue().pageInfo.endCursor } }),
    async write (name, input) {
      const update = (cache, { data }) => updateQueues(cache, data[name].queueEntryId)
      return (await client.mutate({ mutation: DOCUMENTS[name], variables: { input }, update })).data[name]
    }
  }
}

async function graphcache () {
  const { Client, fetchExchange } = await import('@urql/core')
  const { makeCache } = await import('./graphcache.js')
  const exchanges = [makeCache(), fetchExchange]
  const client = new Client({ url, fetch: noting, preferGetMethod: false, fetchOptions: { headers }, exchanges })
  let result
  client.query(DOCUMENTS.Queue, { first: SIZE }).subscribe(one => { result = one })
  const queue = () => result.data.moderationQueue
  return {
    queue,
    more: () => client.query(DOCUMENTS.Queue, { first: SIZE, after: queue().pageInfo.endCursor }).toPromise(),
    async write (name, input) {
      const { data, error } = await client.mutation(DOCUMENTS[name], { input }).toPromise()
      if (error) throw error
      return data[name]
    }
  }
}

async function relay () {
  const {
    Environment, Network, RecordSource, Store, commitMutation, createOperationDescriptor, fetchQuery,
    getPaginationMetadata, getPaginationVariables, getSingularSelector
  } = await import('relay-runtime')
  const { updateQueue } = await import('./relay-store.js')
  const require = createRequire(import.meta.url)
  const artifact = name => require(`./relay/out/${name}.graphql.js`)
  const network = Network.create(async ({ name, text }, variables) => {
    const body = JSON.stringify({ operationName: name, query: text, variables })
    return (await noting(url, { method: 'POST', headers, body })).json()
  })
  const environment = new Environment({ network, store: new Store(new RecordSource()) })
  const operation = createOperationDescriptor(artifact('QueueQuery'), { first: SIZE })
  environment.retain(operation)
  await fetchQuery(environment, artifact('QueueQuery'), operation.request.variables).toPromise()
  const page = () => environment.lookup(operation.fragment).data
  const queue = () => environment.lookup(getSingularSelector(artifact('Queue_query'), page())).data.moderationQueue
  return {
    queue,
    async more () {
      const { paginationRequest, paginationMetadata } = getPaginationMetadata(artifact('Queue_query'))
      const end = queue().pageInfo.endCursor
      const variables = getPaginationVariables('forward', SIZE, end, {}, {}, paginationMetadata)
      await fetchQuery(environment, paginationRequest, variables).toPromise()
    },
    write: (name, input) => new Promise((resolve, reject) => commitMutation(environment, {
      mutation: artifact(`Queue${name[0].toUpperCase()}${name.slice(1)}Mutation`),
      variables: { input },
      updater (store) {
        const id = store.getRootField(name).getValue('queueEntryId')
        updateQueue(store, id, 'Queue_moderationQueue', { kind: 'PENDING' })
      },
      onCompleted: data => resolve(data[name]),
      onError: reject
    }))
  }
}

const shown = ({ totalCount, edges, pageInfo }) => ({
  total: totalCount,
  texts: edges.map(({ node }) => node.submission.text),
  more: pageInfo.hasNextPage
})

async function known (first) {
  const body = JSON.stringify({ query: print(DOCUMENTS.Queue), variables: { first } })
  const { data } = await (await fetch(url, { method: 'POST', headers, body })).json()
  return shown(data.moderationQueue)
}

const page = await { apollo, graphcache, relay }[client]()
const steps = {}

async function step (name, act) {
  await act()
  await new Promise(resolve => setTimeout(resolve, 300)) // a cache may send a request of its own
  const view = shown(page.queue())
  steps[name] = { requests, view, known: await known(view.texts.length) }
  requests = []
}
const decide = (name, text, more) => async () => {
  const { submission } = page.queue().edges.map(({ node }) => node).find(one => one.submission.text === text)
  const { userErrors } = await page.write(name, { id: submission.id, seen: submission.createdAt, ...more })
  if (userErrors.length) throw new Error(userErrors[0].message)
}

await step('list', () => {})
await step('more', () => page.more())
await step('approve', decide('approveComment', 'Comment 2'))
await step('reject', decide('rejectComment', 'Comment 0', { reason: 'Off topic.' }))
await step('rest', () => page.more())
await step('approve the last', decide('approveComment', 'Comment 4'))
console.log(JSON.stringify(steps))
process.exit()
