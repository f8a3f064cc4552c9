import { type Client, createClient } from "graphql-ws";
import { useRef } from "react";
import type { Filter } from "./filter";
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

/**
 * Return the event cursor of a list's first page, to subscribe with as `after`; null until it is read.
 *
 * Pages that are read later have later event cursors, which would miss events of the first page.
 */
export function useFirstCursor(filter: Filter, eventCursor: string | null | undefined) {
  const first = useRef<{ filter: Filter; cursor: string } | null>(null);
  if (first.current?.filter !== filter) {
    first.current = eventCursor ? { filter, cursor: eventCursor } : null;
  }
  return first.current?.cursor ?? null;
}
