// A page with urql, Graphcache and the blocks of docs/client-setup.md. Argument: the directory of the blocks
import { Client, fetchExchange } from '@urql/core'
import { DOCUMENTS } from './view_documents.mjs'

export async function open ({ url, headers, productId, size, fetch }, blocks) {
  const { makeCache } = await import(`${blocks}/graphcache.js`)
  const client = new Client({
    url,
    fetch,
    preferGetMethod: false,
    fetchOptions: { headers },
    exchanges: [makeCache(), fetchExchange]
  })
  let result
  let watched
  let variables
  return {
    async show (rating) {
      watched?.unsubscribe()
      variables = { productId, rating, first: size }
      watched = client.query(DOCUMENTS.View, variables).subscribe(one => { result = one })
    },
    more: () => client.query(DOCUMENTS.View, { ...variables, after: result.data.product.comments.pageInfo.endCursor }).toPromise(),
    async write (name, variables) {
      const { data, error } = await client.mutation(DOCUMENTS[name], variables).toPromise()
      if (error) throw error
      return data[name]
    },
    product: () => result.data.product
  }
}
