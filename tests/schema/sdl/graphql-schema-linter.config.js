// All rules of graphql-schema-linter but four, which want the members of enums, inputs, interfaces and
// types in alphabetical order: here what belongs together stands together, `rating` beside `language`,
// and statuses stand in the order in which an order passes through them.
module.exports = {
  rules: [
    "arguments-have-descriptions",
    "defined-types-are-used",
    "deprecations-have-a-reason",
    "descriptions-are-capitalized",
    "enum-values-all-caps",
    "enum-values-have-descriptions",
    "fields-are-camel-cased",
    "fields-have-descriptions",
    "input-object-values-are-camel-cased",
    "input-object-values-have-descriptions",
    "relay-connection-arguments-spec",
    "relay-connection-types-spec",
    "relay-page-info-spec",
    "types-are-capitalized",
    "types-have-descriptions",
  ],
};
