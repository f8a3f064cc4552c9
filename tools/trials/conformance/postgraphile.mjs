// PostGraphile with its presets for Relay, over the tables of a database.
// Usage: postgraphile.mjs PORT URL
import { createServer } from 'node:http'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { grafserv } from 'postgraphile/grafserv/node'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'
import { PostGraphileRelayPreset } from 'postgraphile/presets/relay'

const [port, connectionString] = process.argv.slice(2)
const instance = postgraphile({
  extends: [PostGraphileAmberPreset, PostGraphileRelayPreset],
  pgServices: [makePgService({ connectionString, schemas: ['public'] })],
  grafserv: { graphiql: false, watch: false, graphqlPath: '/graphql' },
  grafast: { explain: false }
})
const server = createServer()
await instance.createServ(grafserv).addTo(server)
server.listen(Number(port), '127.0.0.1', () => console.log('listening'))
