// A page with Relay and the blocks of docs/client-setup.md.
// Arguments: the directory of the blocks, and the directory of the compiler's artifacts
import { createRequire } from 'node:module'
import {
  Environment, Network, RecordSource, Store, commitMutation, createOperationDescriptor, fetchQuery,
  getPaginationMetadata, getPaginationVariables, getRefetchMetadata, getSingularSelector
} from 'relay-runtime'

export async function open ({ url, headers, productId, size, fetch }, blocks, artifacts) {
  const { updateComments } = await import(`${blocks}/relay-store.js`)
  const require = createRequire(`${artifacts}/`)
  const artifact = name => require(`./${name}.graphql.js`)
  const QUERY = artifact('ViewQuery')
  const PRODUCT = artifact('View_product')

  const environment = new Environment({
    network: Network.create(async ({ name, text }, variables) => {
      const body = JSON.stringify({ operationName: name, query: text, variables })
      return (await fetch(url, { method: 'POST', headers, body })).json()
    }),
    store: new Store(new RecordSource())
  })
  const read = (fragment, owner) => environment.lookup(getSingularSelector(fragment, owner)).data
  let operation
  let filters

  const shown = () => read(PRODUCT, environment.lookup(operation.fragment).data.product)
  return {
    async show (rating) {
      filters = { rating }
      operation = createOperationDescriptor(QUERY, { productId, rating, first: size })
      environment.retain(operation)
      // As useLazyLoadQuery does with its default policy, store-or-network.
      if (environment.check(operation).status === 'available') return
      await fetchQuery(environment, QUERY, operation.request.variables).toPromise()
    },
    async more () {
      const { paginationRequest, paginationMetadata } = getPaginationMetadata(PRODUCT)
      const { identifierInfo } = getRefetchMetadata(PRODUCT)
      const { id, comments: { pageInfo } } = shown()
      const variables = getPaginationVariables('forward', size, pageInfo.endCursor, filters, {}, paginationMetadata)
      variables[identifierInfo.identifierQueryVariableName] = id
      await fetchQuery(environment, paginationRequest, variables).toPromise()
    },
    async write (name, variables) {
      return new Promise((resolve, reject) => commitMutation(environment, {
        mutation: artifact(`View${name[0].toUpperCase()}${name.slice(1)}Mutation`),
        variables,
        updater (store) {
          const payload = store.getRootField(name)
          const [edge, product] = ['commentEdge', 'product'].map(one => payload.getLinkedRecord(one))
          const id = edge?.getLinkedRecord('node').getValue('id') ??
            payload.getValue('unpublishedId') ?? payload.getValue('deletedId')
          if (id) updateComments(store, product, id, edge, 'Product_comments', filters)
        },
        onCompleted: data => resolve(data[name]),
        onError: reject
      }))
    },
    product () {
      const product = shown()
      const { statistics } = read(artifact('View_counts'), product)
      const edges = product.comments.edges.map(({ node }) => ({ node: read(artifact('View_comment'), node) }))
      return { statistics, comments: { ...product.comments, edges } }
    }
  }
}
