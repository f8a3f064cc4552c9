import { type Client, createClient } from "graphql-ws";
import { API, authorization } from "./session";

/**
 * Return a graphql-ws client, for subscriptions to commentEvents.
 *
 * It connects with the first subscription and closes after the last. A connection that is lost is
 * made again, and goes on after the last event that came: graphql-ws sends the same payload anew,
 * so each event's cursor is put there as `after`.
 */
export function liveClient(): Client {
  const client = createClient({
    url: API.replace(/^http/, "ws"),
    connectionParams: authorization,
    retryAttempts: Infinity,
    shouldRetry: () => true,
  });
  return {
    ...client,
    subscribe(payload, sink) {
      const sent = { ...payload };
      return client.subscribe<any, any>(sent, {
        ...sink,
        next(result) {
          const after = result.data?.commentEvents?.cursor;
          if (after) sent.variables = { ...sent.variables, after };
          sink.next(result);
        },
      });
    },
  };
}
