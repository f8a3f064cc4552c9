// graphql-yoga with the helpers of graphql-relay over an array, as in their documentation.
// Usage: yoga.mjs PORT
import { createServer } from 'node:http'
import { GraphQLNonNull, GraphQLObjectType, GraphQLSchema, GraphQLString, GraphQLID } from 'graphql'
import {
  connectionArgs, connectionDefinitions, connectionFromArray, fromGlobalId, globalIdField, mutationWithClientMutationId,
  nodeDefinitions, toGlobalId
} from 'graphql-relay'
import { createYoga } from 'graphql-yoga'

const notes = []
let last = 0
function add (text) {
  const note = { id: String(++last), text }
  notes.unshift(note)
  return note
}
for (let number = 0; number < 50; number++) add(`Note ${number}`)

const { nodeInterface, nodeField, nodesField } = nodeDefinitions(
  globalId => notes.find(note => note.id === fromGlobalId(globalId).id),
  () => 'Note'
)
const Note = new GraphQLObjectType({
  name: 'Note',
  interfaces: [nodeInterface],
  fields: { id: globalIdField(), text: { type: GraphQLString } }
})
const { connectionType } = connectionDefinitions({ nodeType: Note })
const addNote = mutationWithClientMutationId({
  name: 'AddNote',
  inputFields: { text: { type: new GraphQLNonNull(GraphQLString) } },
  outputFields: { note: { type: Note } },
  mutateAndGetPayload: ({ text }) => ({ note: add(text) })
})
const deleteNote = mutationWithClientMutationId({
  name: 'DeleteNote',
  inputFields: { id: { type: new GraphQLNonNull(GraphQLID) } },
  outputFields: { deletedId: { type: GraphQLID } },
  mutateAndGetPayload: ({ id }) => {
    const place = notes.findIndex(note => toGlobalId('Note', note.id) === id)
    if (place >= 0) notes.splice(place, 1)
    return { deletedId: id }
  }
})
const schema = new GraphQLSchema({
  query: new GraphQLObjectType({
    name: 'Query',
    fields: {
      node: nodeField,
      nodes: nodesField,
      notes: { type: connectionType, args: connectionArgs, resolve: (_, args) => connectionFromArray(notes, args) }
    }
  }),
  mutation: new GraphQLObjectType({ name: 'Mutation', fields: { addNote, deleteNote } })
})

createServer(createYoga({ schema, graphiql: false, landingPage: false, logging: false }))
  .listen(Number(process.argv[2]), '127.0.0.1', () => console.log('listening'))
