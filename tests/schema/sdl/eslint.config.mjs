// The rules that @graphql-eslint recommends for schemas, and those for Relay.
import graphql from "@graphql-eslint/eslint-plugin";

const { rules: recommended } = graphql.configs["flat/schema-recommended"];
const { rules: relay } = graphql.configs["flat/schema-relay"];

export default [
  {
    files: ["**/*.graphql"],
    languageOptions: { parser: graphql.parser },
    plugins: { "@graphql-eslint": graphql },
    rules: {
      ...recommended,
      ...relay,
      // A description of each type is the recommendation; ours are of everything that can have one.
      "@graphql-eslint/require-description": [
        "error",
        {
          types: true,
          DirectiveDefinition: true,
          EnumValueDefinition: true,
          FieldDefinition: true,
          InputValueDefinition: true,
          rootField: true,
        },
      ],
      // An id is of what can be fetched again. These cannot: they are pages, answers of mutations and
      // events, or values that are parts of the object that has them.
      "@graphql-eslint/strict-id-in-types": [
        "error",
        {
          exceptions: {
            suffixes: ["Connection", "Edge", "Payload"],
            types: [
              "BlockedUser",
              "CommentEvent",
              "CommentReport",
              "CommentReports",
              "ReportReasonCount",
              "CommentStatistics",
              "LanguageCount",
              "CommentFacets",
              "RatingFacet",
              "LanguageFacet",
              "Money",
              "Mover",
              "Movers",
              "OrderLine",
              "PageInfo",
              "Period",
              "PeriodTotals",
              "ModerationQueueEntry",
              "Photo",
              "PhotoUpload",
              "PhotoUploadField",
              "ProductHighlights",
              "ProductRank",
              "RatingCount",
              "Reply",
              "Trend",
              "TrendPoint",
              "UserError",
              "UserProfile",
            ],
          },
        },
      ],
      // Beyond Relay's specification: a rank is no object of its own, so nothing could be fetched by
      // its id; and lists that are short and never paged, such as an order's lines, need no edges.
      "@graphql-eslint/relay-edge-types": [
        "error",
        { withEdgeSuffix: true, shouldImplementNode: false, listTypeCanWrapOnlyEdgeType: false },
      ],
    },
  },
];
