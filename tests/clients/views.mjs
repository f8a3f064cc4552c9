// Shows a product's comments with a client and its cache, and writes as a customer, a merchant and a moderator do.
// After each step it prints the requests since the step before, what the page shows, and what a new client would show.
// Usage: URL AUTHORIZATION PRODUCT, the module that opens a page, and its arguments
import { print } from 'graphql'
import { DOCUMENTS } from './view_documents.mjs'

const [url, authorization, productId, library, ...rest] = process.argv.slice(2)
const headers = { authorization, 'content-type': 'application/json' }
const SIZE = 3

let requests = []
let open = 0
const noting = async (address, options) => {
  const { operationName, query, variables } = JSON.parse(options.body)
  requests.push(`${operationName ?? /(?:query|mutation) (\w+)/.exec(query)[1]}${variables.after ? ', more' : ''}`)
  open++
  const answer = await fetch(address, options)
  const text = await answer.text()
  open--
  return new Response(text, answer)
}

/** Waits until the client has sent all requests that it needs, and has the answers. */
async function settled () {
  let before
  do {
    before = requests.length + open
    await new Promise(resolve => setTimeout(resolve, 50))
  } while (open || before !== requests.length)
}

const shown = ({ statistics: { total, average, facets }, comments: { totalCount, edges, pageInfo } }) => ({
  total,
  average,
  found: [facets.total, totalCount],
  ratings: facets.ratings.map(({ count }) => count),
  comments: edges.map(({ node: { text, rating, helpfulCount, reply } }) => [text, rating, helpfulCount, reply?.text ?? null]),
  more: pageInfo.hasNextPage
})

async function known (rating, first) {
  const body = JSON.stringify({ query: print(DOCUMENTS.View), variables: { productId, rating, first } })
  const { data, errors } = await (await fetch(url, { method: 'POST', headers, body })).json()
  if (errors) throw new Error(JSON.stringify(errors))
  return shown(data.product)
}

const page = await (await import(library)).open({ url, headers, productId, size: SIZE, fetch: noting }, ...rest)
const steps = {}
let filter = null

async function step (name, act) {
  requests = []
  const result = await act()
  await settled()
  const view = shown(page.product())
  steps[name] = { requests, view, known: await known(filter, Math.max(view.comments.length, 1)) }
  return result
}
const show = rating => () => page.show(filter = rating)
const write = (name, input) => async () => {
  const payload = await page.write(name, { input, rating: filter })
  if (payload.userErrors.length) throw new Error(payload.userErrors[0].message)
  return payload
}
const node = text => page.product().comments.edges.map(({ node }) => node).find(one => one.text === text)

await step('list', show(null))
await step('more', () => page.more())
await step('filter', show([5]))
await step('no filter', show(null))
await step('add', write('addComment', { productId, rating: 5, language: 'en', text: 'New' }))
await step('edit', write('updateComment', { id: node('New').id, rating: 1, text: 'Edited' }))
const { id, createdAt: seen } = node('Comment 7')
await step('vote', write('markHelpful', { id }))
await step('reply', write('replyToComment', { id, text: 'Thank you.' }))
const { submission } = await step('reject', write('rejectComment', { id, seen, reason: 'Off topic.' }))
await step('approve', write('approveComment', { id: submission.id, seen }))
await step('delete', write('deleteComment', { id: node('Edited').id }))
await step('filter again', show([5]))
console.log(JSON.stringify(steps))
process.exit()
