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
  // The connections that were lost since the last event. graphql-ws has its own number, but starts
  // again from 0 when a connection opens, although the server may close the connection immediately.
  let lost = 0;
  let connectedAt = 0;
  const client = createClient({
    // If the server closes a connection with code 1000, graphql-ws connects again without calling retryWait, whose
    // shortest pause is 500 ms.
    url: async () => {
      if (Date.now() - connectedAt < 500) await pause(lost++);
      connectedAt = Date.now();
      return API.replace(/^http/, "ws");
    },
    connectionParams: authorization,
    retryAttempts: Infinity,
    shouldRetry: () => true,
    retryWait: () => pause(lost++),
  });
  return {
    ...client,
    subscribe(payload, sink) {
      const sent = { ...payload };
      return client.subscribe<any, any>(sent, {
        ...sink,
        next(result) {
          lost = 0;
          const after = result.data?.commentEvents?.cursor;
          if (after) sent.variables = { ...sent.variables, after };
          sink.next(result);
        },
      });
    },
  };
}

/**
 * Wait before the client connects again: 1, 2, 4, 8, 16, 32 seconds, and then until the user returns.
 *
 * A random part of each pause prevents that all pages connect to a restarted server at once.
 */
function pause(lost: number): Promise<void> {
  if (lost >= ATTEMPTS) return userReturns();
  const milliseconds = 1000 * 2 ** lost * (0.5 + Math.random() / 2);
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

const ATTEMPTS = 6;

/** Wait until the network is back, the tab gets the focus, or the user presses something. */
function userReturns(): Promise<void> {
  return new Promise((resolve) => {
    const done = new AbortController();
    for (const type of ["online", "focus", "pointerdown", "keydown"]) {
      addEventListener(type, () => (done.abort(), resolve()), { signal: done.signal });
    }
  });
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
