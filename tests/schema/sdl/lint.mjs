// Prints the findings of graphql-schema-linter and graphql-eslint for each given schema, as a line of JSON.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ESLint } from "eslint";

const here = dirname(fileURLToPath(import.meta.url));
// An object's own id has the same name as in arguments, such as `product(productId:)`, and its `id` is
// the global id. The rule against the type's name in a field's name has no exceptions.
const OWN_IDS = /^Field "(commentId|orderId|productId|ticketId|username)" starts with/;

// No field returns the codes of errors, because they are in the response's `extensions`.
const UNUSED = /`ErrorCode` is (defined in the schema but not used anywhere|unreachable)\.$/;

// Strawberry has no descriptions of directives' arguments. The directive's own description explains `levels`.
const DESCRIBED = /^Description is required for input value "levels" in directive "semanticNonNull"/;

function schemaLinter(schema) {
  const program = join(here, "node_modules/graphql-schema-linter/lib/cli.js");
  const options = ["--config-directory", here, "--format", "json", schema];
  const { stdout, stderr } = spawnSync(process.execPath, [program, ...options], { encoding: "utf8" });
  if (!stdout) throw new Error(stderr);
  return JSON.parse(stdout)
    .errors.filter(({ message }) => !UNUSED.test(message))
    .map(({ rule, message, location }) => ({ rule, line: location.line, message }));
}

async function graphqlEslint(schema) {
  const eslint = new ESLint({
    cwd: dirname(schema),
    overrideConfigFile: join(here, "eslint.config.mjs"),
    overrideConfig: { languageOptions: { parserOptions: { graphQLConfig: { schema } } } },
  });
  const [{ messages }] = await eslint.lintFiles([schema]);
  return messages
    .filter(({ message }) => ![OWN_IDS, UNUSED, DESCRIBED].some((known) => known.test(message)))
    .map(({ ruleId, line, message }) => ({ rule: ruleId, line, message }));
}

for (const schema of process.argv.slice(2)) {
  console.log(JSON.stringify([...schemaLinter(schema), ...(await graphqlEslint(schema))]));
}
