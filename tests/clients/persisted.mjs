// Sends documents by hash and by id of a manifest with Apollo and urql, twice each. Prints the requests and results.
// Usage: URL AUTHORIZATION PRODUCT MANIFEST
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache, gql } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import {
  createPersistedQueryManifestVerificationLink, generatePersistedQueryIdsFromManifest
} from '@apollo/persisted-query-lists'
import { Client, fetchExchange } from '@urql/core'
import { persistedExchange } from '@urql/exchange-persisted'
import { PAGE } from './documents.mjs'

const [url, authorization, productId, file] = process.argv.slice(2)
const headers = { authorization }
const manifest = JSON.parse(readFileSync(file))
const loadManifest = () => manifest
const documentId = manifest.operations.find(({ name }) => name === 'Page').id
const sha256 = text => createHash('sha256').update(text).digest('hex')

const variables = { productId, first: 1 }
const named = name => PAGE.replace('Page', name)
const shown = ({ product }) => product.comments.edges[0].node.text

/** Returns a fetch that records the method, and whether the request has a text, a hash or an id. */
const noting = sent => (address, options) => {
  const { query, extensions } = options.body
    ? JSON.parse(options.body)
    : Object.fromEntries(new URL(address).searchParams)
  const hash = JSON.stringify(extensions ?? '').includes('sha256Hash')
  sent.push(`${options.method} ${[hash && 'hash', query && 'text'].filter(Boolean).join(' and ')}`)
  return fetch(address, options)
}

const apollo = (document, ...links) => fetch => {
  const client = new ApolloClient({
    cache: new InMemoryCache(),
    link: ApolloLink.from([...links, new HttpLink({ uri: url, headers, fetch })])
  })
  return async () => {
    try {
      const { data } = await client.query({ query: gql(document), variables, fetchPolicy: 'network-only' })
      return shown(data)
    } catch (error) {
      if (!CombinedGraphQLErrors.is(error)) throw error
      return error.errors[0].extensions.code
    }
  }
}

const urql = (document, exchange) => fetch => {
  const client = new Client({ url, fetch, fetchOptions: { headers }, exchanges: [exchange, fetchExchange] })
  return async () => {
    const { data, error } = await client.query(document, variables, { requestPolicy: 'network-only' })
    return error ? error.graphQLErrors[0].extensions.code : shown(data)
  }
}

const verified = createPersistedQueryManifestVerificationLink({
  loadManifest,
  onVerificationFailed ({ reason }) {
    throw new Error(`${reason}: make ${file} anew with 'npm run manifest'`)
  }
})

const ways = {
  'Apollo, hash by POST': apollo(named('ApolloByPost'), new PersistedQueryLink({ sha256 })),
  'Apollo, hash by GET': apollo(
    named('ApolloByGet'), new PersistedQueryLink({ sha256, useGETForHashedQueries: true })),
  'Apollo, manifest': apollo(
    PAGE, verified, new PersistedQueryLink(generatePersistedQueryIdsFromManifest({ loadManifest }))),
  'urql, hash by POST': urql(
    named('UrqlByPost'), persistedExchange({ preferGetForPersistedQueries: false })),
  'urql, hash by GET': urql(named('UrqlByGet'), persistedExchange()),
  'urql, manifest': urql({ ...gql(PAGE), documentId }, persistedExchange({
    enforcePersistedQueries: true,
    generateHash: async (_, document) => document.documentId
  }))
}

const answer = { sent: {}, shown: {} }
for (const [name, way] of Object.entries(ways)) {
  const ask = way(noting(answer.sent[name] = []))
  answer.shown[name] = [await ask(), await ask()]
}
console.log(JSON.stringify(answer))
