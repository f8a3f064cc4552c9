// A server for comparison: PostGraphile over PostgreSQL, configured as in its documentation. The plugin
// connection-filter adds the filters.
// Usage: postgraphile.mjs PORT URL PROCESSES
import cluster from 'node:cluster'
import { createServer } from 'node:http'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { grafserv } from 'postgraphile/grafserv/node'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'
import { PostGraphileConnectionFilterPreset } from 'postgraphile-plugin-connection-filter'

const [port, connectionString, processes] = process.argv.slice(2)

async function serve () {
  const instance = postgraphile({
    extends: [PostGraphileAmberPreset, PostGraphileConnectionFilterPreset],
    pgServices: [makePgService({ connectionString, schemas: ['public'], poolConfig: { max: 20 } })],
    grafserv: { graphiql: false, watch: false, graphqlPath: '/graphql' },
    grafast: { explain: false }
  })
  const server = createServer()
  await instance.createServ(grafserv).addTo(server)
  server.listen(Number(port), '127.0.0.1')
}

if (processes > 1 && cluster.isPrimary) {
  for (let number = 0; number < processes; number++) cluster.fork()
} else {
  await serve()
}
