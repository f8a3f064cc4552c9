import { API, authorization } from "common";
import { liveClient } from "common/live";
import {
  Environment,
  type FetchFunction,
  type GraphQLResponse,
  Network,
  Observable,
  type PayloadError,
  RecordSource,
  Store,
  type SubscribeFunction,
} from "relay-runtime";

/** Return an environment for the signed-in user. Each user gets a new store. */
export function makeEnvironment(): Environment {
  const client = liveClient();

  const subscribe: SubscribeFunction = (request, variables) =>
    Observable.create<GraphQLResponse>((sink) =>
      client.subscribe<GraphQLResponse>(
        { operationName: request.name, query: request.text ?? "", variables },
        {
          next: (result) => sink.next(result as GraphQLResponse),
          error: (error) => sink.error(error as Error),
          complete: () => sink.complete(),
        },
      ),
    );

  return new Environment({
    network: Network.create(fetchGraphQL, subscribe),
    store: new Store(new RecordSource()),
  });
}

const fetchGraphQL: FetchFunction = async (request, variables) => {
  const response = await fetch(API, {
    method: "POST",
    headers: {
      Accept: "application/graphql-response+json, application/json",
      "Content-Type": "application/json",
      ...authorization(),
    },
    body: JSON.stringify({ query: request.text, variables }),
  });
  if (!response.headers.get("Content-Type")?.includes("json")) {
    throw new Error(`The server answered with status ${response.status}.`);
  }
  const answer = await response.json();
  const errors: readonly PayloadError[] = answer.errors ?? [];
  // If only some fields failed, the page shows the other fields: a failed field is null, or an
  // error object if the query has @catch. Throw for a failed list, too: Relay would replace the
  // loaded pages of the list by null.
  if (errors.length > 0 && (!answer.data || errors.some(({ path }) => path?.at(-1) === "comments"))) {
    throw new Error(errors.map(({ message }) => message).join(" "));
  }
  return answer;
};
