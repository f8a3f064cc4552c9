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

/** Return a client for whoever is signed in now: another user gets another cache. */
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
          // One list for each choice of these, whatever its pages.
          fields: { comments: relayStylePagination(["rating", "language", "orderBy"]) },
        },
        CommentStatistics: { merge: true }, // it has facets of several filters
      },
    }),
  });
}

/** Return a sentence for an error; of one that is no GraphQL answer Apollo keeps only the text. */
export function reason(error: unknown): string {
  if (!ServerError.is(error)) return sentence(error);
  try {
    return JSON.parse(error.bodyText).errors[0].message;
  } catch {
    return sentence(error);
  }
}
