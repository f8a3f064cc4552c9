// Prints the results of graphql-http's server audits of the given URL.
import { auditServer } from "graphql-http";

const results = await auditServer({ url: process.argv[2] });
console.log(
  JSON.stringify(results.map(({ id, name, status, reason }) => ({ id, name, status, reason }))),
);
