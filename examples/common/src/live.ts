import { type Client, createClient } from "graphql-ws";
import { useRef } from "react";
import type { Filter } from "./filter";
import { API, authorization } from "./session";

/**
 * Return a graphql-ws client for subscriptions to commentEvents.
 *
 * The client connects at the first subscription, and disconnects after the last. If the connection
 * is lost, graphql-ws connects again and sends the same payload again. This client therefore stores
 * the cursor of each received event in the payload's variable `after`, and the server continues
 * after the last event.
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

/**
 * Return the event cursor of a list's first page, for the argument `after` of commentEvents.
 *
 * Return null until the first page is read. The event cursor of a later page would skip events that
 * happened after the first page was read.
 */
export function useFirstCursor(filter: Filter, eventCursor: string | null | undefined) {
  const first = useRef<{ filter: Filter; cursor: string } | null>(null);
  if (first.current?.filter !== filter) {
    first.current = eventCursor ? { filter, cursor: eventCursor } : null;
  }
  return first.current?.cursor ?? null;
}
