// Prints graphql-http's server audits of the address that is given.
import { auditServer } from "graphql-http";

const results = await auditServer({ url: process.argv[2] });
console.log(
  JSON.stringify(results.map(({ id, name, status, reason }) => ({ id, name, status, reason }))),
);
