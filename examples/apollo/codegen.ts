import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  schema: "../../schema.graphql",
  documents: "src/**/*.{ts,tsx}",
  ignoreNoDocuments: true,
  generates: {
    "./src/gql/": {
      preset: "client",
      presetConfig: { fragmentMasking: false },
      config: {
        enumsAsTypes: true,
        nonOptionalTypename: true, // Apollo selects __typename everywhere, and optimistic responses need it
        skipTypeNameForRoot: true,
        scalars: { CurrencyCode: "string", DateTime: "string", Decimal: "string" },
        useTypeImports: true,
      },
    },
  },
};

export default config;
