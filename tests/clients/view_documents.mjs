// The operations of view.graphql by name, each with its fragments.
import { readFileSync } from 'node:fs'
import { parse, separateOperations } from 'graphql'

export const DOCUMENTS = separateOperations(parse(readFileSync(new URL('view.graphql', import.meta.url), 'utf-8')))
