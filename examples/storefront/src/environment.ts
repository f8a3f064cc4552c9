import { API, authorization } from "common";
import { liveClient } from "common/live";
import {
  Environment,
  type FetchFunction,
  type GraphQLResponse,
  Network,
  Observable,
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
  const answer = await response.json();
  // If only some fields failed, the page shows the other fields: a failed field is null, or an
  // error object if the query has @catch. So throw only if the response has no data.
  if (answer.errors && !answer.data) {
    throw new Error(answer.errors.map((error: { message: string }) => error.message).join(" "));
  }
  return answer;
};
