// Prints what graphql-schema-linter and graphql-eslint have against the schema that is given, as JSON.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ESLint } from "eslint";

const here = dirname(fileURLToPath(import.meta.url));
const schema = process.argv[2];
// An object's own id has the name that arguments have for it, as in `product(productId:)`; its `id` is
// the global one. The rule against the type's name in a field's knows no exceptions.
const OWN_IDS = /^Field "(commentId|orderId|productId|ticketId|username)" starts with/;

function schemaLinter() {
  const program = join(here, "node_modules/graphql-schema-linter/lib/cli.js");
  const options = ["--config-directory", here, "--format", "json", schema];
  const { stdout, stderr } = spawnSync(process.execPath, [program, ...options], { encoding: "utf8" });
  if (!stdout) throw new Error(stderr);
  return JSON.parse(stdout).errors.map(({ rule, message, location }) => ({
    rule,
    line: location.line,
    message,
  }));
}

async function graphqlEslint() {
  const eslint = new ESLint({
    cwd: dirname(schema),
    overrideConfigFile: join(here, "eslint.config.mjs"),
    overrideConfig: { languageOptions: { parserOptions: { graphQLConfig: { schema } } } },
  });
  const [{ messages }] = await eslint.lintFiles([schema]);
  return messages
    .filter(({ message }) => !OWN_IDS.test(message))
    .map(({ ruleId, line, message }) => ({ rule: ruleId, line, message }));
}

console.log(JSON.stringify([...schemaLinter(), ...(await graphqlEslint())]));
