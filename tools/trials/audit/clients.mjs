// Sends one query with each client to the given URL, and prints the requests and responses.
import { createHash } from "node:crypto";
import { ApolloClient, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { Client, fetchExchange } from "@urql/core";

const uri = process.argv[2];
const query = 'query View { product(productId: "42") { productId } }';
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

const urql = (fetch) =>
  new Client({ url: uri, exchanges: [fetchExchange], fetch }).query(query, {}).toPromise();

const apollo = (useGETForHashedQueries) => (fetch) =>
  new ApolloClient({
    cache: new InMemoryCache(),
    link: new PersistedQueryLink({ sha256, useGETForHashedQueries }).concat(
      new HttpLink({ uri, fetch }),
    ),
  }).query({ query: gql(query) });

const clients = {
  "urql, default": urql,
  "Apollo, hashes by POST": apollo(false),
  "Apollo, hashes by GET": apollo(true),
};

const runs = [];
for (const [name, run] of Object.entries(clients)) {
  const sent = [];
  const noting = async (address, options) => {
    const answer = await fetch(address, options);
    const text = `${new URL(address).searchParams.get("query") ?? ""}${options.body ?? ""}`;
    sent.push(`${options.method} ${text.includes("productId") ? "text" : "hash"}: ${answer.status}`);
    return answer;
  };
  const { data, error } = await run(noting);
  runs.push({ name, sent, answer: data?.product.productId ?? String(error) });
}
console.log(JSON.stringify(runs));
