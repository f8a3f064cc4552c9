import { type CombinedError, Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { API, authorization, sentence } from "common";
import { liveClient } from "common/live";
import { cache } from "./cache";

/** Return a client for whoever is signed in now: another user gets another cache. */
export function makeClient(): Client {
  const live = liveClient();
  return new Client({
    url: API,
    fetchOptions: () => ({ headers: authorization() }),
    exchanges: [
      cache(),
      fetchExchange,
      // Without WebSocket, `fetchSubscriptions: true` in place of this: server-sent events.
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

/** Return a sentence for an error: the API's own, or that there is no answer. */
export function reason({ graphQLErrors, networkError }: CombinedError): string {
  if (networkError) return sentence(networkError);
  return graphQLErrors.map(({ message }) => message).join(" ");
}
