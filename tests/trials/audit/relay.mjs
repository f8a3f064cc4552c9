// Prints what @graphql-eslint's rules for Relay have against the schema that is given.
import graphql from "@graphql-eslint/eslint-plugin";
import { ESLint } from "eslint";

const schema = process.argv[2];
// What the rules ask for beyond Relay's specification is off: nodes behind every edge (a rank is none),
// and no list that is not of edges.
const rules = {
  arguments: undefined,
  "connection-types": undefined,
  "edge-types": {
    withEdgeSuffix: true,
    shouldImplementNode: false,
    listTypeCanWrapOnlyEdgeType: false,
  },
  "page-info": undefined,
};
const eslint = new ESLint({
  cwd: process.argv[3],
  overrideConfigFile: true,
  overrideConfig: [
    {
      files: ["**/*.graphql"],
      languageOptions: { parser: graphql.parser, parserOptions: { graphQLConfig: { schema } } },
      plugins: { "@graphql-eslint": graphql },
      rules: Object.fromEntries(
        Object.entries(rules).map(([rule, options]) => [
          `@graphql-eslint/relay-${rule}`,
          options ? ["error", options] : "error",
        ]),
      ),
    },
  ],
});

const [{ messages }] = await eslint.lintFiles([schema]);
const told = (rule) =>
  messages
    .filter(({ ruleId, fatal }) => fatal || ruleId === `@graphql-eslint/relay-${rule}`)
    .map(({ line, message }) => `line ${line}: ${message}`);
console.log(JSON.stringify(Object.keys(rules).map((rule) => ({ rule: `relay-${rule}`, messages: told(rule) }))));
