// A page with Apollo and the blocks of docs/client-setup.md. Argument: the directory of the blocks
import { ApolloClient, HttpLink } from '@apollo/client'
import { DOCUMENTS } from './view_documents.mjs'

export async function open ({ url, headers, productId, size, fetch }, blocks) {
  const { makeCache, updateComments } = await import(`${blocks}/apollo-cache.js`)
  const client = new ApolloClient({ cache: makeCache(), link: new HttpLink({ uri: url, headers, fetch }) })
  const variables = rating => ({ productId, rating, first: size })
  let watched
  return {
    async show (rating) {
      if (watched) return watched.setVariables(variables(rating))
      watched = client.watchQuery({ query: DOCUMENTS.View, variables: variables(rating) })
      watched.subscribe({})
    },
    more: () => watched.fetchMore({ variables: { after: watched.getCurrentResult().data.product.comments.pageInfo.endCursor } }),
    async write (name, variables) {
      const { data } = await client.mutate({
        mutation: DOCUMENTS[name],
        variables,
        update (cache, { data }) {
          const { commentEdge, unpublishedId, deletedId, product } = data[name]
          const id = commentEdge?.node.id ?? unpublishedId ?? deletedId
          if (id) updateComments(cache, product, id, commentEdge)
        }
      })
      return data[name]
    },
    product: () => watched.getCurrentResult().data.product
  }
}
