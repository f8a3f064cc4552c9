import { type CombinedError, Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { API, authorization, sentence } from "common";
import { liveClient } from "common/live";
import { cache } from "./cache";

/** Return a client for the signed-in user. Each user gets a new cache. */
export function makeClient(): Client {
  const live = liveClient();
  return new Client({
    url: API,
    fetchOptions: () => ({ headers: authorization() }),
    exchanges: [
      cache(),
      fetchExchange,
      // For server-sent events, replace this exchange by the option `fetchSubscriptions: true`.
      subscriptionExchange({
        forwardSubscription: ({ query, variables }) => ({
          subscribe: (sink) => ({
            unsubscribe: live.subscribe({ query: query ?? "", variables }, sink),
          }),
        }),
      }),
    ],
  });
}

/** Return a message for an error: the API's own messages, or one for a missing response. */
export function reason({ graphQLErrors, networkError }: CombinedError): string {
  if (networkError) return sentence(networkError);
  return graphQLErrors.map(({ message }) => message).join(" ");
}
