import {
  ApolloClient,
  ApolloLink,
  HttpLink,
  InMemoryCache,
  ServerError,
} from "@apollo/client";
import { SetContextLink } from "@apollo/client/link/context";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { relayStylePagination } from "@apollo/client/utilities";
import { API, authorization, sentence } from "common";
import { liveClient } from "common/live";
import { OperationTypeNode } from "graphql";

// One cached list for each combination of these arguments, with all its pages.
const pages = relayStylePagination(["rating", "language", "orderBy"]);

/** Return a client for the signed-in user. Each user gets a new cache. */
export function makeClient(): ApolloClient {
  const live = new GraphQLWsLink(liveClient());
  const http = new HttpLink({ uri: API });
  const signed = new SetContextLink(({ headers }) => ({
    headers: { ...headers, ...authorization() },
  }));
  return new ApolloClient({
    link: ApolloLink.split(
      ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
      live,
      signed.concat(http),
    ),
    cache: new InMemoryCache({
      typePolicies: {
        Product: {
          fields: {
            comments: {
              ...pages,
              merge(existing, incoming, options) {
                // A failed list is null. For null, `pages` would store an empty list.
                if (incoming === null || typeof pages.merge !== "function") return existing ?? null;
                return pages.merge(existing, incoming, options);
              },
            },
          },
        },
        CommentStatistics: { merge: true }, // keep the facets of earlier filters
      },
    }),
  });
}

/** Return a message for an error. A ServerError has the API's message in its response body. */
export function reason(error: unknown): string {
  if (!ServerError.is(error)) return sentence(error);
  try {
    return JSON.parse(error.bodyText).errors[0].message;
  } catch {
    return sentence(error);
  }
}
