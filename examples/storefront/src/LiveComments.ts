import { type Filter, placeOf, PRODUCT_ID } from "common";
import { useMemo } from "react";
import { fetchQuery, graphql, useRelayEnvironment, useSubscription } from "react-relay";
import { ConnectionHandler, type SelectorStoreUpdater } from "relay-runtime";
import type { LiveCommentsStatisticsQuery } from "./__generated__/LiveCommentsStatisticsQuery.graphql";
import type { LiveCommentsSubscription } from "./__generated__/LiveCommentsSubscription.graphql";

const subscription = graphql`
  subscription LiveCommentsSubscription(
    $productId: ID!
    $rating: [Int!]
    $language: [String!]
    $after: String
    $connections: [ID!]!
  ) {
    commentEvents(productId: $productId, rating: $rating, language: $language, after: $after) {
      kind
      cursor
      deletedId @deleteEdge(connections: $connections)
      commentEdge {
        cursor
        node {
          id
          createdAt
          ...CommentItem_comment
        }
      }
    }
  }
`;

const statistics = graphql`
  query LiveCommentsStatisticsQuery($productId: ID!, $rating: [Int!], $language: [String!]) {
    product(productId: $productId) {
      ...Statistics_product @arguments(rating: $rating, language: $language)
    }
  }
`;

type Response = LiveCommentsSubscription["response"];

/** Update a list when other users add, change and delete comments. */
export function useLiveComments(
  connection: string,
  filter: Filter,
  after: string | null,
  reload: () => void,
): void {
  const environment = useRelayEnvironment();
  const { rating, language } = filter;
  const config = useMemo(
    () => ({
      subscription,
      variables: { productId: PRODUCT_ID, rating, language, after, connections: [connection] },
      // Relay updates changed comments in its store by id, and @deleteEdge removes deleted ones.
      updater: added(connection, filter),
      onNext: (response: Response | null | undefined) => {
        const kind = response?.commentEvents?.kind;
        if (kind === "RELOAD") {
          reload(); // earlier events may be missing
        } else {
          const variables = { productId: PRODUCT_ID, rating, language };
          fetchQuery<LiveCommentsStatisticsQuery>(environment, statistics, variables).subscribe({
            error: () => {}, // keep the old counts
          });
        }
      },
    }),
    [after, connection, environment, filter, language, rating, reload],
  );
  useSubscription<LiveCommentsSubscription>(config);
}

/** Return an updater that inserts an added comment in date order, if its place is loaded. */
function added(connection: string, filter: Filter): SelectorStoreUpdater<Response> {
  return (store) => {
    const event = store.getRootField("commentEvents");
    const list = store.get(connection);
    const edge = event?.getLinkedRecord("commentEdge");
    if (event?.getValue("kind") !== "ADDED" || !edge || !list) return;

    const node = edge.getLinkedRecord("node");
    const edges = list.getLinkedRecords("edges") ?? [];
    const nodes = edges.map((one) => one.getLinkedRecord("node"));
    if (nodes.some((one) => one?.getDataID() === node.getDataID())) return; // this tab has added it

    const dates = nodes.map((one) => String(one?.getValue("createdAt")));
    const next = edges[placeOf(String(node.getValue("createdAt")), dates, filter)];
    const isWhole = !list.getLinkedRecord("pageInfo")?.getValue("hasNextPage");
    const placed = ConnectionHandler.buildConnectionEdge(store, list, edge);
    if (placed && next) {
      ConnectionHandler.insertEdgeBefore(list, placed, String(next.getValue("cursor")));
    } else if (placed && isWhole) {
      ConnectionHandler.insertEdgeAfter(list, placed);
    }
  };
}
