import {
  type Cache,
  cacheExchange,
  type OptimisticMutationResolver,
  type UpdateResolver,
} from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { type Filter, passes, PRODUCT_ID, withEdge } from "common";
import { type ADD, COMMENTS, type DELETE, type EVENTS, VIEWER } from "./documents";
import type { ResultOf, VariablesOf } from "./graphql";

type List = NonNullable<NonNullable<ResultOf<typeof COMMENTS>["product"]>["comments"]>;
type Edge = List["edges"][number];

const embedded = () => null;

/** Return a normalised cache that knows what mutations and events do to lists. */
export function cache() {
  return cacheExchange({
    keys: {
      CommentFacets: embedded,
      CommentStatistics: embedded,
      LanguageFacet: embedded,
      RatingFacet: embedded,
    },
    resolvers: { Product: { comments: relayPagination() } },
    optimistic: { addComment: expectedAddition, deleteComment: expectedDeletion },
    updates: {
      Mutation: { addComment: added, deleteComment: deleted },
      Subscription: { commentEvents: told },
    },
  });
}

const added: UpdateResolver<ResultOf<typeof ADD>> = ({ addComment }, _args, cache) =>
  insert(cache, addComment?.commentEdge);

const deleted: UpdateResolver<ResultOf<typeof DELETE>> = ({ deleteComment }, _args, cache) =>
  remove(cache, deleteComment?.deletedId);

const told: UpdateResolver<ResultOf<typeof EVENTS>> = ({ commentEvents: event }, _args, cache) => {
  if (event?.kind === "ADDED") insert(cache, event.commentEdge);
  if (event?.kind === "DELETED") remove(cache, event.deletedId);
  cache.invalidate(product(cache), "statistics"); // the query that shows them reads them again
};

/** Put an edge in each list that it belongs to. */
function insert(cache: Cache, edge: Edge | null | undefined): void {
  if (!edge) return;
  change(cache, (list, filter) => {
    // What the server has not taken yet is in a layer of its own, and must not get below it.
    const edges = isSent(edge) ? list.edges.filter(isSent) : list.edges;
    return passes(filter, edge.node) ? withEdge({ ...list, edges }, edge, filter) : list;
  });
}

/** Take a comment out of each list, and out of the cache. */
function remove(cache: Cache, id: string | null | undefined): void {
  if (!id) return;
  change(cache, (list) => ({ ...list, edges: list.edges.filter(({ node }) => node.id !== id) }));
  cache.invalidate({ __typename: "Comment", id });
}

function isSent({ node }: Edge): boolean {
  return !node.id.startsWith("new:");
}

/** Change each list of the product that has been read; all its pages are one list. */
function change(cache: Cache, changed: (list: List, filter: Filter) => List): void {
  for (const { fieldName, arguments: args } of cache.inspectFields(product(cache))) {
    if (fieldName !== "comments" || args?.after) continue;
    const variables = { productId: PRODUCT_ID, ...args };
    cache.updateQuery({ query: COMMENTS, variables }, (known) => {
      if (!known?.product?.comments) return known;
      const comments = changed(known.product.comments, args as Filter);
      return { ...known, product: { ...known.product, comments } };
    });
  }
}

/** Return the cache's key of the product that the page shows. */
function product(cache: Cache): string {
  return cache.resolve("Query", "product", { productId: PRODUCT_ID }) as string;
}

const expectedAddition: OptimisticMutationResolver<VariablesOf<typeof ADD>, any> = (
  { input: { productId, idempotencyKey, ...written } },
  cache,
) => {
  const viewer = cache.readQuery({ query: VIEWER })?.viewer;
  const edge = viewer && {
    __typename: "CommentEdge",
    cursor: "",
    node: {
      __typename: "Comment",
      ...written,
      id: `new:${idempotencyKey}`,
      createdAt: new Date().toISOString(),
      verifiedPurchase: false,
      username: viewer.username,
      authorName: viewer.name,
    },
  };
  return {
    __typename: "AddCommentPayload",
    commentEdge: edge ?? null,
    comment: null,
    userErrors: [],
  };
};

const expectedDeletion: OptimisticMutationResolver<VariablesOf<typeof DELETE>, any> = ({
  input,
}) => ({
  __typename: "DeleteCommentPayload",
  deletedId: input.id,
  product: null,
  userErrors: [],
});
