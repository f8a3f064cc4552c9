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
      // The recommended rule requires a description of each type. Here every element must have one.
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
      // Only objects that can be fetched again have an id. These are pages, payloads, events, or values
      // that are parts of another object.
      "@graphql-eslint/strict-id-in-types": [
        "error",
        {
          exceptions: {
            suffixes: ["Connection", "Edge", "Payload"],
            types: [
              "Aspect",
              "AspectRating",
              "AspectStatistics",
              "BlockedUser",
              "CommentEvent",
              "CommentReport",
              "CommentReports",
              "ReportReasonCount",
              "CommentStatistics",
              "InvitationLink",
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
      // This rule exceeds Relay's specification. A rank cannot be fetched by an id, and short lists that
      // are never paged, such as an order's lines, need no edges.
      "@graphql-eslint/relay-edge-types": [
        "error",
        { withEdgeSuffix: true, shouldImplementNode: false, listTypeCanWrapOnlyEdgeType: false },
      ],
    },
  },
];
