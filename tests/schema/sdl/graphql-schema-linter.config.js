// All rules of graphql-schema-linter except four, which require alphabetical order of the members of
// enums, inputs, interfaces and types. Here related members are next to each other, such as `rating`
// and `language`, and statuses are in the order of their changes.
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
